// Presets: which VMIs they reach, what they fill, and when they contradict each other.
import { describe, expect, it } from 'vitest';
import type { VirtualMachineInstance } from '../../api/index.js';
import { applyPresets, hasAppliedPreset, type VirtualMachineInstancePreset } from './preset.js';

const preset = (name: string, domain: object): VirtualMachineInstancePreset =>
  ({
    metadata: { name },
    spec: { selector: { matchLabels: { a: 'b' } }, domain: { devices: {}, ...domain } },
  }) as VirtualMachineInstancePreset;
const vmi = (domain: object = {}, metadata: object = { labels: { a: 'b' } }): VirtualMachineInstance =>
  ({ metadata, spec: { domain: { devices: {}, ...domain } } }) as VirtualMachineInstance;
const applied = (given: VirtualMachineInstance, ...presets: VirtualMachineInstancePreset[]): VirtualMachineInstance => {
  const result = applyPresets(given, presets);
  if (!result.ok) throw new Error(result.error);
  return result.value;
};
const CPU = preset('p', { cpu: { cores: 4 } });

describe('applyPresets', () => {
  it('fills what the VMI leaves open and says so', () => {
    const result = applied(
      vmi(),
      CPU,
      preset('q', { resources: { requests: { memory: '1Gi' } }, clock: { utc: {}, timer: { hpet: { present: false } } } }),
    );
    expect(result.spec.domain).toEqual({
      devices: {},
      cpu: { cores: 4 },
      resources: { requests: { memory: '1Gi' } },
      clock: { utc: {}, timer: { hpet: { present: false } } },
    });
    expect(result.metadata.annotations).toEqual({
      'virtualmachinepreset.kubevirt.io/p': 'kubevirt.io/v1',
      'virtualmachinepreset.kubevirt.io/q': 'kubevirt.io/v1',
    });
    expect(hasAppliedPreset(result)).toBe(true);
  });

  it.each<[string, VirtualMachineInstance]>([
    ['the VMI has its own value', vmi({ cpu: { cores: 1 } })],
    ['labels differ', vmi({}, { labels: { a: 'z' } })],
    [
      'the VMI is excluded',
      vmi({}, { labels: { a: 'b' }, annotations: { 'virtualmachineinstancepresets.admission.kubevirt.io/exclude': 'true' } }),
    ],
  ])('leaves a VMI alone when %s', (_title, given) => {
    expect(applied(given, CPU)).toEqual(given);
  });

  it.each<[string, object, object, object, boolean]>([
    ['the same offset and another timer', { utc: {} }, { utc: {}, timer: { rtc: {} } }, { utc: {}, timer: { rtc: {} } }, false],
    ['another timer', { timer: { hpet: {} } }, { timer: { rtc: {} } }, { timer: { rtc: {} } }, false],
    ['no timer', { utc: {}, timer: { hpet: {} } }, { utc: {} }, { utc: {}, timer: { hpet: {} } }, true],
  ])('of a clock: a VMI with %s', (_title, clock, before, after, says) => {
    const result = applied(vmi({ clock: before }), preset('p', { clock }));
    expect([result.spec.domain.clock, hasAppliedPreset(result)]).toEqual([after, says]);
  });

  it('names the presets that contradict each other', () => {
    expect(applyPresets(vmi(), [CPU, preset('q', { cpu: { cores: 8 } })])).toEqual({
      ok: false,
      error: `VirtualMachinePresets cannot be applied due to conflicts: presets 'q' and 'p' conflict: spec.cpu: {"cores":8} != {"cores":4}`,
    });
  });
});
