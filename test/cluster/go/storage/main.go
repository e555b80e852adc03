// Package main is a provisioner of block volumes for the nodes of this machine: each volume is a loop device over a sparse file in the
// folder of the node that the scheduler picked. The nodes share the host's devices, so that it works on the host for all of them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v10/controller"
)

const (
	hostname = "kubernetes.io/hostname"
	sector   = 512
)

type loops struct {
	// folder has one folder a node.
	folder string
	// below is the folder of the volumes in a node's folder.
	below string
}

func (l *loops) SupportsBlock(context.Context) bool { return true }

func (l *loops) file(node, volume string) string {
	return filepath.Join(l.folder, node, l.below, volume+".img")
}

func (l *loops) Provision(_ context.Context, options controller.ProvisionOptions) (*v1.PersistentVolume, controller.ProvisioningState, error) {
	claim := options.PVC
	if claim.Spec.VolumeMode == nil || *claim.Spec.VolumeMode != v1.PersistentVolumeBlock {
		return nil, controller.ProvisioningFinished, fmt.Errorf("class %s has only block volumes: set volumeMode Block", options.StorageClass.Name)
	}
	if options.SelectedNode == nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("class %s binds volumes with their first pod: no node was selected", options.StorageClass.Name)
	}
	node := options.SelectedNode.Labels[hostname]
	request := claim.Spec.Resources.Requests[v1.ResourceStorage]
	device, err := l.create(l.file(node, options.PVName), request.Value())
	if err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	klog.Infof("volume %s on %s is %s", options.PVName, node, device)
	mode := v1.PersistentVolumeBlock
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			AccessModes:                   claim.Spec.AccessModes,
			VolumeMode:                    &mode,
			Capacity:                      v1.ResourceList{v1.ResourceStorage: request},
			PersistentVolumeSource:        v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: device}},
			NodeAffinity:                  onNode(node),
		},
	}, controller.ProvisioningFinished, nil
}

func onNode(node string) *v1.VolumeNodeAffinity {
	isNode := v1.NodeSelectorRequirement{Key: hostname, Operator: v1.NodeSelectorOpIn, Values: []string{node}}
	return &v1.VolumeNodeAffinity{
		Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{isNode}}}},
	}
}

// create is safe to repeat: a file that has its device already keeps it.
func (l *loops) create(file string, size int64) (string, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	if err := truncate(file, (size+sector-1)/sector*sector); err != nil {
		return "", err
	}
	if present, err := deviceOf(file); err != nil || present != "" {
		return present, err
	}
	return losetup("--find", "--show", file)
}

func truncate(file string, size int64) error {
	made, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer made.Close()
	return made.Truncate(size)
}

func deviceOf(file string) (string, error) {
	return losetup("--noheadings", "--output", "NAME", "--associated", file)
}

func losetup(args ...string) (string, error) {
	out, err := exec.Command("losetup", args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return "", fmt.Errorf("losetup %s: %s", strings.Join(args, " "), exit.Stderr)
		}
		return "", err
	}
	return strings.TrimSpace(string(out)), nil
}

func (l *loops) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	terms := volume.Spec.NodeAffinity.Required.NodeSelectorTerms
	file := l.file(terms[0].MatchExpressions[0].Values[0], volume.Name)
	device, err := deviceOf(file)
	if err == nil && device != "" {
		_, err = losetup("--detach", device)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	klog.Infof("volume %s is gone", volume.Name)
	return nil
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the cluster")
	name := flag.String("provisioner", "", "as storage classes name it")
	folder := flag.String("folder", "", "the folder with one folder a node")
	below := flag.String("below", "block", "the folder for volumes in a node's folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		klog.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		klog.Fatal(err)
	}
	provisioner := &loops{folder: *folder, below: *below}
	controller.NewProvisionController(klog.FromContext(ctx), client, *name, provisioner, controller.LeaderElection(false)).Run(ctx)
}
