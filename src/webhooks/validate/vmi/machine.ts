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
  yield invalid(path, `${path} is not supported: ${type} (allowed values: [${allowed.join(' ')}])`);
};

function* acpiTable(name: string | undefined, volumes: readonly Volume[], acpi: FieldPath, key: string): Causes {
  if (!name) return;
  const volume = volumes.find((v) => v.name === name);
  if (!volume) yield invalid(field(acpi, key), `${acpi} does not have a matching Volume.`);
  else if (!volume.secret) yield invalid(field(acpi, key), `${acpi} refers to Volume of unsupported type.`);
}

/** The path is `<spec>.acpi`, as it always has been. */
export const firmwareAcpi: SpecRule = function* (spec, at) {
  const acpi = spec.domain.firmware?.acpi;
  if (!acpi) return;
  const path = field(at, 'acpi');
  if (!acpi.slicNameRef && !acpi.msdmNameRef) {
    yield invalid(path, 'ACPI was set but no SLIC nor MSDM volume reference was set');
    return;
  }
  yield* acpiTable(acpi.slicNameRef, spec.volumes ?? [], path, 'slicNameRef');
  yield* acpiTable(acpi.msdmNameRef, spec.volumes ?? [], path, 'msdmNameRef');
};

/** A path inside an image: absolute, not the root, nothing to resolve. */
export function* imagePathCauses(path: string, at: FieldPath): Causes {
  if (path === '/') {
    yield invalid(at, `${at} must not point to root`);
    return;
  }
  const clean = posix.join('/', path).replace(/(.)\/$/, '$1');
  if (clean !== path.replace(/\/$/, '')) yield invalid(at, `${at} must be an absolute path to a file without relative components`);
}

function* kernelBootCauses(boot: KernelBoot, at: FieldPath): Causes {
  const { container } = boot;
  if (!container) {
    if (boot.kernelArgs) yield invalid(field(at, 'kernelArgs'), 'kernel arguments cannot be provided without an external kernel');
    return;
  }
  const path = field(at, 'container');
  if (!container.image) yield required(field(path, 'image'), `${path} must be defined with an image`);
  if (!container.initrdPath && !container.kernelPath) {
    yield required(path, `${path} must be defined with at least one of the following: kernelPath, initrdPath`);
  }
  if (container.kernelPath) yield* imagePathCauses(container.kernelPath, field(path, 'kernelPath'));
  if (container.initrdPath) yield* imagePathCauses(container.initrdPath, field(path, 'initrdPath'));
}

export const firmware: SpecRule = function* (spec, at) {
  const { bootloader, kernelBoot } = spec.domain.firmware ?? {};
  const path = field(at, 'domain', 'firmware');
  if (bootloader?.efi && bootloader.bios) {
    const where = field(path, 'bootloader');
    yield invalid(where, `${where} has both EFI and BIOS configured, but they are mutually exclusive.`);
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
  yield invalid(path, `${path} has EFI SecureBoot enabled. SecureBoot requires SMM, which is currently disabled.`);
};
