package consolidation

import (
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/bench/workload"
)

// load lets pods come and go: Deployments follow the sun with some noise, every ten
// minutes a CronJob runs a dozen pods for a few minutes, and twice a day there is a batch.
func (l *living) load() {
	minute := int(l.now.Sub(bench.Now) / time.Minute)
	for uid, end := range l.ends {
		if !l.now.Before(end) {
			delete(l.ends, uid)
			l.drop(uid)
		}
	}
	for i := range l.web {
		sun := 0.6 - 0.4*math.Cos(2*math.Pi*float64(minute+20*i)/(24*60))
		want := int(30 * sun * (0.97 + 0.06*l.dice.Float64()))
		for len(l.web[i]) < want {
			l.web[i] = append(l.web[i], l.start(fmt.Sprintf("web-%02d", i), int64(100+50*i), int64(200*(1+i%4)), 0))
		}
		for len(l.web[i]) > want && minute%5 == 0 {
			l.drop(l.web[i][0].UID)
			l.web[i] = l.web[i][1:]
		}
	}
	if minute%10 == 0 {
		for range 12 {
			l.start("cron", 250, 256, time.Duration(2+l.dice.IntN(4))*time.Minute)
		}
	}
	if minute == 2*60 || minute == 14*60 {
		for range 60 {
			l.start("batch", 1000, 2048, time.Duration(30+l.dice.IntN(30))*time.Minute)
		}
	}
}

// start makes a pod; life is zero for one that stays.
func (l *living) start(owner string, cpuMilli, memoryMiB int64, life time.Duration) *corev1.Pod {
	l.serial++
	p := workload.Identical(1, cpuMilli, memoryMiB)(nil)[0]
	p.Name, p.UID = fmt.Sprintf("%s-%06d", owner, l.serial), types.UID(fmt.Sprintf("%09d", l.serial))
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, Controller: new(true)}}
	if life > 0 {
		p.OwnerReferences[0] = metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: p.Name, Controller: new(true)}
		l.ends[p.UID] = l.now.Add(life)
	}
	l.pending = append(l.pending, p)
	return p
}

func (l *living) drop(uid types.UID) {
	for _, m := range l.Sorted() {
		if m.Pods[uid] != nil {
			delete(m.Pods, uid)
			l.touch(m)
		}
	}
}
