// The guest's clock: offset, timers, and a fixed TSC frequency where the guest depends on it.
import type { Clock, Timer, VirtualMachineInstance } from '../../../api/index.js';
import type { ClockTimer, DomainClock } from '../domain.js';
import { type Fragment, NOTHING, type Step } from '../step.js';

export const clock: Step<'vmi' | 'domain'> = {
  name: 'clock',
  render({ vmi, domain }): Fragment {
    const tsc = tscTimers(vmi);
    if (!domain.clock && tsc.length === 0) return NOTHING;
    const given = domain.clock ?? {};
    return { clock: { ...offset(given), timer: [...timers(given.timer), ...tsc] } };
  },
};

function offset({ utc, timezone }: Clock): DomainClock {
  if (utc) return { offset: 'utc', adjustment: String(utc.offsetSeconds ?? 'reset') };
  return timezone === undefined ? { offset: 'utc' } : { offset: 'timezone', timezone };
}

const present = (timer: { readonly present?: boolean }): boolean => timer.present !== false;

function timers({ rtc, pit, kvm, hpet, hyperv }: Timer = {}): ClockTimer[] {
  const made: readonly (ClockTimer | undefined)[] = [
    rtc && { name: 'rtc', tickpolicy: rtc.tickPolicy, present: present(rtc), track: rtc.track },
    pit && { name: 'pit', tickpolicy: pit.tickPolicy, present: present(pit) },
    kvm && { name: 'kvmclock', present: present(kvm) },
    hpet && { name: 'hpet', tickpolicy: hpet.tickPolicy, present: present(hpet) },
    hyperv && { name: 'hypervclock', present: present(hyperv) },
  ];
  return made.filter((timer) => timer !== undefined);
}

/** The controller hinted the nodes' TSC frequency; it is fixed only for guests that read the TSC as a clock. */
function tscTimers({ spec, status }: VirtualMachineInstance): ClockTimer[] {
  const frequency = status?.topologyHints?.tscFrequency ?? 0;
  const invariant = spec.domain.cpu?.features?.some(
    ({ name, policy }) => name === 'invtsc' && (policy === 'require' || policy === 'force'),
  );
  const reenlightened = spec.domain.features?.hyperv?.reenlightenment?.enabled === true;
  return frequency > 0 && (invariant || reenlightened) ? [{ name: 'tsc', frequency }] : [];
}
