// The guest's clock: offset, timers, and a fixed TSC frequency where the guest depends on it.
import type { Clock, Timer, VirtualMachineInstance } from '../../../api/index.js';
import { NOTHING, type Step } from '../step.js';
import { el, type XmlNode, yesNo } from '../xml.js';

export const clock: Step<'vmi' | 'domain'> = {
  name: 'clock',
  render({ vmi, domain }) {
    const tsc = tscTimer(vmi);
    if (!domain.clock && !tsc) return NOTHING;
    const given = domain.clock ?? {};
    return { elements: [el('clock', offset(given), [...timers(given.timer), tsc])] };
  },
};

function offset({ utc, timezone }: Clock): Record<string, string | number | undefined> {
  if (utc) return { offset: 'utc', adjustment: utc.offsetSeconds ?? 'reset' };
  return timezone === undefined ? { offset: 'utc' } : { offset: 'timezone', timezone };
}

const present = (timer: { readonly present?: boolean }): string => yesNo(timer.present !== false);

function timers({ rtc, pit, kvm, hpet, hyperv }: Timer = {}): XmlNode[] {
  return [
    rtc && el('timer', { name: 'rtc', tickpolicy: rtc.tickPolicy, present: present(rtc), track: rtc.track }),
    pit && el('timer', { name: 'pit', tickpolicy: pit.tickPolicy, present: present(pit) }),
    kvm && el('timer', { name: 'kvmclock', present: present(kvm) }),
    hpet && el('timer', { name: 'hpet', tickpolicy: hpet.tickPolicy, present: present(hpet) }),
    hyperv && el('timer', { name: 'hypervclock', present: present(hyperv) }),
  ].filter((timer) => timer !== undefined);
}

/** The controller hinted the nodes' TSC frequency; it is fixed only for guests that read the TSC as a clock. */
function tscTimer({ spec, status }: VirtualMachineInstance): XmlNode | undefined {
  const frequency = status?.topologyHints?.tscFrequency ?? 0;
  const invariant = spec.domain.cpu?.features?.some(
    ({ name, policy }) => name === 'invtsc' && (policy === 'require' || policy === 'force'),
  );
  const reenlightened = spec.domain.features?.hyperv?.reenlightenment?.enabled === true;
  return frequency > 0 && (invariant || reenlightened) ? el('timer', { name: 'tsc', frequency }) : undefined;
}
