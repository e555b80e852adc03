// Machine type, firmware and kernel boot of a VMI. Pure.
import { posix } from 'node:path';
import { type FieldPath, field } from '../../../api/field-path.js';
import type { KernelBoot, VirtualMachineInstanceSpec, Volume } from '../../../api/index.js';
import { emulatedMachinesFor } from '../../../core/config/cluster-lookups.js';
import { type Causes, invalid, type Rule, required } from '../rule.js';

type SpecRule = Rule<VirtualMachineInstanceSpec>;

/** Shell-like patterns: `*` and `?` stop at a slash, `[…]` is a set. */
function globMatches(glob: string, text: string): boolean {
  const pattern = glob
    .replace(/[.+^${}()|\\]/g, '\\$&')
    .replace(/\*/g, '[^/]*')
    .replace(/\?/g, '[^/]');
  return new RegExp(`^${pattern}$`).test(text);
}

export const machineType: SpecRule = function* (spec, at, config) {
  const type = spec.domain.machine?.type;
  if (!type) return;
  const allowed = emulatedMachinesFor(config, spec.architecture);
  if (allowed.some((glob) => globMatches(glob, type))) return;
  const path = field(at, 'domain', 'machine', 'type');
  yield invalid(
    path,
    `machine type ${type} is not permitted: use one that matches ${allowed.join(', ')}, or extend emulatedMachines in the KubeVirt resource`,
  );
};

function* acpiTable(name: string | undefined, volumes: readonly Volume[], acpi: FieldPath, key: string): Causes {
  if (!name) return;
  const volume = volumes.find((v) => v.name === name);
  if (!volume) yield invalid(field(acpi, key), `${field(acpi, key)} names the volume "${name}", which does not exist: add it`);
  else if (!volume.secret) yield invalid(field(acpi, key), `${field(acpi, key)} names the volume "${name}", which must be of a secret`);
}

/** The path is `<spec>.acpi`, as it always has been. */
export const firmwareAcpi: SpecRule = function* (spec, at) {
  const acpi = spec.domain.firmware?.acpi;
  if (!acpi) return;
  const path = field(at, 'acpi');
  if (!acpi.slicNameRef && !acpi.msdmNameRef) {
    yield invalid(path, 'firmware.acpi names no table: set slicNameRef or msdmNameRef, or take it out');
    return;
  }
  yield* acpiTable(acpi.slicNameRef, spec.volumes ?? [], path, 'slicNameRef');
  yield* acpiTable(acpi.msdmNameRef, spec.volumes ?? [], path, 'msdmNameRef');
};

/** A path inside an image: absolute, not the root, nothing to resolve. */
export function* imagePathCauses(path: string, at: FieldPath): Causes {
  if (path === '/') {
    yield invalid(at, `${at} must not be the root: name a file`);
    return;
  }
  const clean = posix.join('/', path).replace(/(.)\/$/, '$1');
  if (clean !== path.replace(/\/$/, '')) yield invalid(at, `${at} "${path}" must be an absolute path without '.', '..' and double slashes`);
}

function* kernelBootCauses(boot: KernelBoot, at: FieldPath): Causes {
  const { container } = boot;
  if (!container) {
    if (boot.kernelArgs)
      yield invalid(field(at, 'kernelArgs'), 'kernel arguments need a kernel of their own: set kernelBoot.container, or take them out');
    return;
  }
  const path = field(at, 'container');
  if (!container.image) yield required(field(path, 'image'), `${path} has no image: name the one that holds kernel and initrd`);
  if (!container.initrdPath && !container.kernelPath) {
    yield required(path, `${path} names no file: set kernelPath, initrdPath or both`);
  }
  if (container.kernelPath) yield* imagePathCauses(container.kernelPath, field(path, 'kernelPath'));
  if (container.initrdPath) yield* imagePathCauses(container.initrdPath, field(path, 'initrdPath'));
}

export const firmware: SpecRule = function* (spec, at) {
  const { bootloader, kernelBoot } = spec.domain.firmware ?? {};
  const path = field(at, 'domain', 'firmware');
  if (bootloader?.efi && bootloader.bios) {
    const where = field(path, 'bootloader');
    yield invalid(where, `${where} has EFI and BIOS, which exclude each other: keep one`);
  }
  if (kernelBoot) yield* kernelBootCauses(kernelBoot, field(path, 'kernelBoot'));
};

export const isSmmOn = (spec: VirtualMachineInstanceSpec): boolean =>
  spec.domain.features?.smm !== undefined && spec.domain.features.smm.enabled !== false;

/** UEFI variables are only safe from the guest's kernel in system management mode; TDX firmware keeps none. */
export const secureBoot: SpecRule = function* (spec, at) {
  const efi = spec.domain.firmware?.bootloader?.efi;
  if (!efi || efi.secureBoot === false || isSmmOn(spec) || spec.domain.launchSecurity?.tdx) return;
  const path = field(at, 'domain');
  yield invalid(path, 'secure boot needs system management mode: switch features.smm on, or set bootloader.efi.secureBoot to false');
};
