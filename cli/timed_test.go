package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// An attachment that has just been asked for is late for a machine whose clock is ten minutes
// ahead, and one that hangs is not for one whose clock is behind, unless the API server's counts.
func TestWhatIsLateIsSoByTheAPIServersClock(t *testing.T) {
	codec := scheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion, storagev1.SchemeGroupVersion)
	for skew, late := range map[time.Duration]bool{-time.Hour: false, time.Hour: true} {
		theirs := time.Now().Add(skew)
		volume := "data"
		attachment := storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: "va", CreationTimestamp: metav1.NewTime(theirs)},
			Spec:       storagev1.VolumeAttachmentSpec{Attacher: "ebs.csi.aws.com", NodeName: "n", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume}},
		}
		if late {
			attachment.CreationTimestamp = metav1.NewTime(theirs.Add(-30 * time.Minute)) // still to come for this machine
		}
		answers := map[string]runtime.Object{
			"/api":                             &metav1.APIVersions{Versions: []string{"v1"}},
			"/apis":                            &metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: "storage.k8s.io", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "storage.k8s.io/v1", Version: "v1"}}, PreferredVersion: metav1.GroupVersionForDiscovery{GroupVersion: "storage.k8s.io/v1", Version: "v1"}}}},
			"/api/v1":                          &metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "nodes", Kind: "Node"}, {Name: "persistentvolumes", Kind: "PersistentVolume"}}},
			"/apis/storage.k8s.io/v1":          &metav1.APIResourceList{GroupVersion: "storage.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "csinodes", Kind: "CSINode"}, {Name: "volumeattachments", Kind: "VolumeAttachment"}}},
			"/api/v1/nodes":                    &corev1.NodeList{Items: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n"}}}},
			"/api/v1/persistentvolumes":        &corev1.PersistentVolumeList{Items: []corev1.PersistentVolume{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}},
			"/apis/storage.k8s.io/v1/csinodes": &storagev1.CSINodeList{Items: []storagev1.CSINode{{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "ebs.csi.aws.com", NodeID: "n"}}}}}},
			"/apis/storage.k8s.io/v1/volumeattachments": &storagev1.VolumeAttachmentList{Items: []storagev1.VolumeAttachment{attachment}},
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", theirs.UTC().Format(http.TimeFormat))
			w.Header().Set("Content-Type", "application/json")
			answer, ok := answers[r.URL.Path]
			if !ok {
				http.NotFound(w, r)
				return
			}
			if err := codec.Encode(answer, w); err != nil {
				t.Errorf("answering %s: %v", r.URL.Path, err)
			}
		}))
		defer server.Close()
		out, errs, code := call(t, "", "attachments", "--server", server.URL)
		if got := strings.Contains(out, "va"); got != late || errs != "" {
			t.Errorf("a clock that is %v behind: exit %d: %s%s", skew, code, out, errs)
		}
	}
}
