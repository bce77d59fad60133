package check

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// manifests are what a kustomization makes, by kind.
type manifests struct {
	deployments []appsv1.Deployment
	jobs        []batchv1.Job
	services    []corev1.Service
	configs     []corev1.ConfigMap
	accounts    []corev1.ServiceAccount
	namespaces  []corev1.Namespace
	budgets     []policyv1.PodDisruptionBudget
	scalers     []autoscalingv2.HorizontalPodAutoscaler
	policies    []networkingv1.NetworkPolicy
	scaled      []scaledObject
}

// scaledObject is as much of KEDA's resource as is used here, by https://keda.sh/docs/latest/reference/scaledobject-spec;
// a field that is not in it fails the decoding.
type scaledObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		ScaleTargetRef struct {
			Name string `json:"name"`
		} `json:"scaleTargetRef"`
		MinReplicaCount int32 `json:"minReplicaCount"`
		MaxReplicaCount int32 `json:"maxReplicaCount"`
		PollingInterval int32 `json:"pollingInterval"`
		CooldownPeriod  int32 `json:"cooldownPeriod"`
		Fallback        struct {
			FailureThreshold int32 `json:"failureThreshold"`
			Replicas         int32 `json:"replicas"`
		} `json:"fallback"`
		Triggers []struct {
			Type       string `json:"type"`
			MetricType string `json:"metricType"`
			Metadata   struct {
				ServerAddress string `json:"serverAddress"`
				Query         string `json:"query"`
				Threshold     string `json:"threshold"`
			} `json:"metadata"`
		} `json:"triggers"`
	} `json:"spec"`
}

// build runs kustomize and decodes what it makes; a field that Kubernetes does not know is an error.
func build(t *testing.T, folder string) (m manifests) {
	t.Helper()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../kubernetes/"+folder)
	require.NoError(t, err)
	for _, resource := range made.Resources() {
		text := resource.MustYaml()
		require.Contains(t, []string{"lacuna", ""}, resource.GetNamespace(), "%s is elsewhere", resource.CurId())
		switch kind := resource.GetGvk().String(); kind {
		case "Deployment.v1.apps":
			m.deployments = append(m.deployments, decode[appsv1.Deployment](t, text))
		case "Job.v1.batch":
			m.jobs = append(m.jobs, decode[batchv1.Job](t, text))
		case "Service.v1.[noGrp]":
			m.services = append(m.services, decode[corev1.Service](t, text))
		case "ConfigMap.v1.[noGrp]":
			m.configs = append(m.configs, decode[corev1.ConfigMap](t, text))
		case "ServiceAccount.v1.[noGrp]":
			m.accounts = append(m.accounts, decode[corev1.ServiceAccount](t, text))
		case "Namespace.v1.[noGrp]":
			m.namespaces = append(m.namespaces, decode[corev1.Namespace](t, text))
		case "PodDisruptionBudget.v1.policy":
			m.budgets = append(m.budgets, decode[policyv1.PodDisruptionBudget](t, text))
		case "HorizontalPodAutoscaler.v2.autoscaling":
			m.scalers = append(m.scalers, decode[autoscalingv2.HorizontalPodAutoscaler](t, text))
		case "NetworkPolicy.v1.networking.k8s.io":
			m.policies = append(m.policies, decode[networkingv1.NetworkPolicy](t, text))
		case "ScaledObject.v1alpha1.keda.sh":
			m.scaled = append(m.scaled, decode[scaledObject](t, text))
		default:
			require.Fail(t, "a kind that no test knows", kind)
		}
	}
	return m
}

func decode[T any](t *testing.T, text string) (object T) {
	t.Helper()
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), &object), "%s", text)
	return object
}

// pods are the templates of everything that runs, by name.
func (m manifests) pods() map[string]corev1.PodTemplateSpec {
	found := map[string]corev1.PodTemplateSpec{}
	for _, d := range m.deployments {
		found[d.Name] = d.Spec.Template
	}
	for _, j := range m.jobs {
		found[j.Name] = j.Spec.Template
	}
	return found
}

// secrets are examples of what stands in the Secret that is not ours to make.
var secrets = map[string]string{
	"mysql-dsn": "lacuna:secret@tcp(mysql:3306)/lacuna", "redis-url": "rediss://:secret@redis:6379/0", "alert-url": "https://alerts.example.com/x",
	"probe-dsns": "shop=reader:secret@tcp(shop:3306)/shop", "temporal-api-key": "key",
}

// environment is what a container finds when the pod has started.
func (m manifests) environment(t *testing.T, c corev1.Container, withOptional bool) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, from := range c.EnvFrom {
		for _, config := range m.configs {
			if config.Name == from.ConfigMapRef.Name {
				for name, value := range config.Data {
					found[name] = value
				}
			}
		}
	}
	for _, variable := range c.Env {
		if variable.ValueFrom == nil {
			found[variable.Name] = variable.Value
			continue
		}
		ref := variable.ValueFrom.SecretKeyRef
		require.Equal(t, "lacuna-servers", ref.Name)
		require.Contains(t, secrets, ref.Key)
		if optional := ref.Optional != nil && *ref.Optional; withOptional || !optional {
			found[variable.Name] = secrets[ref.Key]
		}
	}
	return found
}

// eachBuild runs a test on the base and on the example of an overlay.
func eachBuild(t *testing.T, test func(*testing.T, manifests)) {
	t.Helper()
	for _, folder := range []string{"base", "production"} {
		t.Run(folder, func(t *testing.T) { test(t, build(t, folder)) })
	}
}

func TestKubernetesGivesEveryProgramTheSettingsThatItNeeds(t *testing.T) {
	programOf := map[string]string{"lacuna-starter": "starter", "lacuna-worker": "worker", "lacuna-migrate": "lacuna"}
	eachBuild(t, func(t *testing.T, m manifests) {
		require.Len(t, m.pods(), len(programOf))
		for name, pod := range m.pods() {
			for _, optional := range []bool{false, true} {
				t.Run(fmt.Sprint(name, ", optional secrets ", optional), func(t *testing.T) {
					require.Len(t, pod.Spec.Containers, 1)
					requireSettings(t, programOf[name], m.environment(t, pod.Spec.Containers[0], optional))
				})
			}
		}
	})
}

func TestKubernetesRunsPodsWithoutRights(t *testing.T) {
	eachBuild(t, func(t *testing.T, m manifests) {
		require.Equal(t, "restricted", m.namespaces[0].Labels["pod-security.kubernetes.io/enforce"])
		require.False(t, *m.accounts[0].AutomountServiceAccountToken)
		for name, pod := range m.pods() {
			require.Equal(t, m.accounts[0].Name, pod.Spec.ServiceAccountName, name)
			require.False(t, *pod.Spec.EnableServiceLinks, "%s: they would set variables that begin with LACUNA_", name)
			require.True(t, *pod.Spec.SecurityContext.RunAsNonRoot, name)
			require.Equal(t, int64(65532), *pod.Spec.SecurityContext.RunAsUser, "%s: the user of the image", name)
			require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.Spec.SecurityContext.SeccompProfile.Type, name)
			c := pod.Spec.Containers[0]
			require.False(t, *c.SecurityContext.AllowPrivilegeEscalation, name)
			require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem, name)
			require.Equal(t, []corev1.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop, name)
			require.False(t, c.Resources.Requests.Cpu().IsZero(), "%s: the autoscaler needs it", name)
			require.False(t, c.Resources.Limits.Memory().IsZero(), name)
			require.True(t, c.Resources.Limits.Cpu().IsZero(), "%s: a process that is held up loses its lease", name)
		}
	})
}

func TestKubernetesProbesWhatTheProgramsServe(t *testing.T) {
	eachBuild(t, func(t *testing.T, m manifests) {
		for _, d := range m.deployments {
			c := d.Spec.Template.Spec.Containers[0]
			ports := map[string]int32{}
			for _, port := range c.Ports {
				ports[port.Name] = port.ContainerPort
			}
			environment := m.environment(t, c, false)
			require.Equal(t, environment["LACUNA_OPS_LISTEN"], fmt.Sprint(":", ports["ops"]))
			if d.Name == "lacuna-starter" {
				require.Equal(t, environment["LACUNA_LISTEN"], fmt.Sprint(":", ports["api"]))
			}
			require.Equal(t, "/healthz", c.LivenessProbe.HTTPGet.Path, "a restart does not bring a server back: only /readyz may ask for them")
			require.Equal(t, "/healthz", c.StartupProbe.HTTPGet.Path)
			require.Equal(t, "/readyz", c.ReadinessProbe.HTTPGet.Path)
			for _, probe := range []*corev1.Probe{c.LivenessProbe, c.StartupProbe, c.ReadinessProbe} {
				require.Equal(t, "ops", probe.HTTPGet.Port.StrVal)
			}
			require.Greater(t, c.ReadinessProbe.TimeoutSeconds, int32(2), "/readyz answers within 2 s")
			patience := time.Duration(c.StartupProbe.PeriodSeconds*c.StartupProbe.FailureThreshold) * time.Second
			require.Greater(t, patience, 2*time.Minute, "that is how long a process waits for its servers")
			wait := time.Duration(0)
			if c.Lifecycle != nil {
				wait = time.Duration(c.Lifecycle.PreStop.Sleep.Seconds) * time.Second
			}
			require.GreaterOrEqual(t, time.Duration(*d.Spec.Template.Spec.TerminationGracePeriodSeconds)*time.Second, wait+longestStop)
		}
	})
}

func TestKubernetesPartsFindEachOther(t *testing.T) {
	eachBuild(t, func(t *testing.T, m manifests) {
		labels := map[string]map[string]string{}
		for _, d := range m.deployments {
			labels[d.Name] = d.Spec.Template.Labels
			require.Subset(t, d.Spec.Template.Labels, d.Spec.Selector.MatchLabels)
			require.Nil(t, d.Spec.Replicas, "an autoscaler sets them; every apply would set them back")
			require.NotEmpty(t, d.Spec.Template.Spec.TopologySpreadConstraints)
			for _, spread := range d.Spec.Template.Spec.TopologySpreadConstraints {
				require.Subset(t, d.Spec.Template.Labels, spread.LabelSelector.MatchLabels)
			}
		}
		for _, s := range m.services {
			require.Subset(t, labels["lacuna-starter"], s.Spec.Selector)
			require.Equal(t, "api", s.Spec.Ports[0].TargetPort.StrVal)
		}
		require.Len(t, m.budgets, len(m.deployments))
		for _, b := range m.budgets {
			require.Subset(t, labels[b.Name], b.Spec.Selector.MatchLabels)
		}
		require.Equal(t, "lacuna-starter", m.scalers[0].Spec.ScaleTargetRef.Name)
		require.GreaterOrEqual(t, *m.scalers[0].Spec.MinReplicas, int32(2))
		require.Greater(t, m.scalers[0].Spec.MaxReplicas, *m.scalers[0].Spec.MinReplicas)
		require.Equal(t, "lacuna-worker", m.scaled[0].Spec.ScaleTargetRef.Name)
		require.GreaterOrEqual(t, m.scaled[0].Spec.MinReplicaCount, int32(2), "with none, nothing would say that one is needed")
		require.Greater(t, m.scaled[0].Spec.MaxReplicaCount, m.scaled[0].Spec.MinReplicaCount)
		for _, trigger := range m.scaled[0].Spec.Triggers {
			require.Equal(t, "prometheus", trigger.Type)
			checkExpressions(t, trigger.Metadata.Query)
		}
	})
}

func TestKubernetesLetsThroughOnlyWhatIsSaid(t *testing.T) {
	eachBuild(t, func(t *testing.T, m manifests) {
		require.Contains(t, m.policies, networkPolicyThatDeniesAll(m.policies))
		// what each may reach, and may be reached at, by all policies together
		egress, ingress := map[string][]string{}, map[string][]string{}
		for name, pod := range m.pods() {
			for _, p := range m.policies {
				if !selects(p.Spec.PodSelector, pod.Labels) {
					continue
				}
				for _, rule := range p.Spec.Egress {
					egress[name] = append(egress[name], ports(rule.Ports)...)
				}
				for _, rule := range p.Spec.Ingress {
					require.NotEmpty(t, rule.From, "%s lets everybody in", p.Name)
					ingress[name] = append(ingress[name], ports(rule.Ports)...)
				}
			}
		}
		require.ElementsMatch(t, []string{"53", "53", "3306"}, egress["lacuna-migrate"])
		require.Empty(t, ingress["lacuna-migrate"])
		require.ElementsMatch(t, []string{"53", "53", "3306", "6379", "7233", "4317"}, egress["lacuna-starter"])
		require.ElementsMatch(t, []string{"ops", "api"}, ingress["lacuna-starter"])
		require.ElementsMatch(t, []string{"53", "53", "3306", "6379", "7233", "4317", "443"}, egress["lacuna-worker"])
		require.ElementsMatch(t, []string{"ops"}, ingress["lacuna-worker"])
	})
}

func TestTheOverlayNamesEveryImage(t *testing.T) {
	for name, pod := range build(t, "production").pods() {
		require.Regexp(t, `^registry\.example\.com/lacuna/(starter|worker|lacuna):\d+\.\d+\.\d+$`, pod.Spec.Containers[0].Image, name)
	}
}

func networkPolicyThatDeniesAll(policies []networkingv1.NetworkPolicy) networkingv1.NetworkPolicy {
	for _, p := range policies {
		if len(p.Spec.PodSelector.MatchLabels)+len(p.Spec.PodSelector.MatchExpressions) == 0 &&
			len(p.Spec.Ingress)+len(p.Spec.Egress) == 0 && len(p.Spec.PolicyTypes) == 2 {
			return p
		}
	}
	return networkingv1.NetworkPolicy{}
}

func ports(list []networkingv1.NetworkPolicyPort) (found []string) {
	for _, p := range list {
		found = append(found, p.Port.String())
	}
	return found
}
