// As whom the containers of a launcher pod run and what they may do: user 107 without privileges unless the cluster runs VMIs as root.
import type { PodSpec, VirtualMachineInstance } from '../../api/index.js';
import { PRIVATE_DIR } from '../../core/storage/paths.js';
import type { PodContext } from './context.js';
import type { SecurityContext } from './parts.js';

export const QEMU_USER = 107;
const NON_ROOT_ANNOTATION = 'kubevirt.io/nonroot';

export const isNonRoot = (vmi: VirtualMachineInstance): boolean =>
  vmi.metadata.annotations?.[NON_ROOT_ANNOTATION] !== undefined || (vmi.status?.runtimeUser ?? 0) !== 0;

type PodSecurity = NonNullable<PodSpec['securityContext']>;

function seccomp({ config, defaultSeccomp }: PodContext): Pick<PodSecurity, 'seccompProfile'> {
  const profile = config.spec.seccompConfiguration?.virtualMachineInstanceProfile?.customProfile;
  if (profile?.localhostProfile) return { seccompProfile: { type: 'Localhost', localhostProfile: profile.localhostProfile } };
  if (profile?.runtimeDefaultProfile) return { seccompProfile: { type: 'RuntimeDefault' } };
  return defaultSeccomp === 'none' ? {} : { seccompProfile: { type: 'RuntimeDefault' } };
}

export function podSecurity(vmi: VirtualMachineInstance, ctx: PodContext): PodSecurity {
  const { selinuxLauncherType } = ctx.config.spec;
  return {
    fsGroup: QEMU_USER,
    ...(isNonRoot(vmi) ? { runAsUser: QEMU_USER, runAsGroup: QEMU_USER, runAsNonRoot: true } : { runAsUser: 0 }),
    ...seccomp(ctx),
    ...(selinuxLauncherType ? { seLinuxOptions: { type: selinuxLauncherType } } : {}),
  };
}

export function computeSecurity(vmi: VirtualMachineInstance): SecurityContext {
  if (!isNonRoot(vmi)) return { runAsUser: 0, runAsNonRoot: false, capabilities: { add: ['NET_BIND_SERVICE', 'SYS_NICE'] } };
  return {
    runAsUser: QEMU_USER,
    runAsGroup: QEMU_USER,
    runAsNonRoot: true,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
  };
}

/** Containers that need nothing at all. */
export const unprivileged: SecurityContext = {
  runAsUser: QEMU_USER,
  runAsGroup: QEMU_USER,
  runAsNonRoot: true,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
};

export const sidecarSecurity = (vmi: VirtualMachineInstance): SecurityContext =>
  isNonRoot(vmi) ? unprivileged : { runAsUser: 0, runAsNonRoot: false };

/** Where programs of user 107, who has no home, keep their files. */
export const stateDirectories = (vmi: VirtualMachineInstance): { name: string; value: string }[] =>
  isNonRoot(vmi)
    ? [
        { name: 'XDG_CACHE_HOME', value: PRIVATE_DIR },
        { name: 'XDG_CONFIG_HOME', value: PRIVATE_DIR },
        { name: 'XDG_RUNTIME_DIR', value: '/var/run' },
      ]
    : [];
