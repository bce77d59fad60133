package check

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// selects says whether a selector means pods with these labels; one that is wrong means none.
func selects(selector metav1.LabelSelector, of map[string]string) bool {
	s, err := metav1.LabelSelectorAsSelector(&selector)
	return err == nil && s.Matches(labels.Set(of))
}
