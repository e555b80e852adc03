// Which types a node is to have by the configuration, and what has to be removed and made for that.
import { describe, expect, it } from 'vitest';
import type { KubeVirtConfiguration } from '../../api/index.js';
import { clusterConfigOf } from '../config/cluster-config.js';
import { type ExistingMdev, type MdevType, type MdevWish, mdevsToCreate, mdevsToRemove, wantedMdevs } from './mediated-types.js';

const LABELS = { zone: 'a', gpu: 't4' };
const node = (nodeSelector: Record<string, string>, ...mediatedDeviceTypes: string[]) => ({ nodeSelector, mediatedDeviceTypes });

describe('wantedMdevs', () => {
  it.each<[string, KubeVirtConfiguration, string[] | undefined]>([
    ['nothing configured', {}, []],
    [
      'for all nodes',
      { mediatedDevicesConfiguration: { mediatedDeviceTypes: ['GRID T4-1Q', 'nvidia-222', 'GRID_T4-1Q'] } },
      ['GRID_T4-1Q', 'nvidia-222'],
    ],
    ['as it was once spelt', { mediatedDevicesConfiguration: { mediatedDevicesTypes: ['nvidia-222'] } }, ['nvidia-222']],
    [
      'for this node, instead of for all',
      {
        mediatedDevicesConfiguration: {
          mediatedDeviceTypes: ['x'],
          nodeMediatedDeviceTypes: [node({ gpu: 't4' }, 'a', 'b'), node({ zone: 'a', gpu: 't4' }, 'c')],
        },
      },
      ['a', 'b', 'c'],
    ],
    [
      'for other nodes',
      { mediatedDevicesConfiguration: { mediatedDeviceTypes: ['x'], nodeMediatedDeviceTypes: [node({ zone: 'b' }, 'a')] } },
      ['x'],
    ],
    ['switched off', { mediatedDevicesConfiguration: { enabled: false, mediatedDeviceTypes: ['x'] } }, undefined],
    ['switched off by the old gate', { developerConfiguration: { featureGates: ['DisableMDEVConfiguration'] } }, undefined],
    [
      'the setting wins over the old gate',
      {
        developerConfiguration: { featureGates: ['DisableMDEVConfiguration'] },
        mediatedDevicesConfiguration: { enabled: true, mediatedDeviceTypes: ['x'] },
      },
      ['x'],
    ],
  ])('%s', (_, spec, expected) => {
    expect(wantedMdevs(clusterConfigOf(spec), LABELS)?.types).toEqual(expected);
  });

  it('knows what somebody else provides', () => {
    const mediatedDevices = [
      { mdevNameSelector: 'GRID T4-1Q', resourceName: 'a.com/x', externalResourceProvider: true },
      { mdevNameSelector: 'GRID T4-2Q', resourceName: 'a.com/y' },
    ];
    expect([...(wantedMdevs(clusterConfigOf({ permittedHostDevices: { mediatedDevices } }), {})?.foreign ?? [])]).toEqual(['GRID_T4-1Q']);
  });
});

const wish = (types: string[], foreign: string[] = []): MdevWish => ({ types, foreign: new Set(foreign) });
const mdev = (uuid: string, parent: string, typeId: string): ExistingMdev => ({ uuid, parent, typeId, typeName: `name-${typeId}` });
const type = (parent: string, id: string, available: number): MdevType => ({ parent, id, name: `name-${id}`, available });

describe('mdevsToRemove', () => {
  const existing = [mdev('mine', 'card1', 'a'), mdev('other', 'card1', 'a'), mdev('far', 'card2', 'z')];
  const supported = [type('card1', 'a', 0), type('card1', 'b', 0), type('card2', 'z', 0)];
  it.each<[string, MdevWish, string[]]>([
    ['nothing of a wanted type', wish(['a']), []],
    ['nothing of a type wanted by its name', wish(['name-a']), []],
    ['our own, where nothing is wanted', wish([]), ['mine']],
    ["all on a card that is to give another type; other cards' stay", wish(['b']), ['mine', 'other']],
    ["nothing that is somebody else's", wish(['b'], ['name-a']), []],
  ])('%s', (_, wanted, expected) => {
    expect(mdevsToRemove(wanted, existing, supported, new Set(['mine'])).map(({ uuid }) => uuid)).toEqual(expected);
  });
});

describe('mdevsToCreate', () => {
  const both = (parent: string): MdevType[] => [type(parent, 'a', 4), type(parent, 'b', 2)];
  it.each<[string, string[], ExistingMdev[], MdevType[], string[]]>([
    ['as many as the card has room for', ['a'], [], both('c1'), ['c1 a x4']],
    ['by name', ['name-b'], [], both('c1'), ['c1 b x2']],
    ['types take turns', ['a', 'b'], [], [...both('c1'), ...both('c2'), ...both('c3')], ['c1 a x4', 'c2 b x2', 'c3 a x4']],
    [
      'what only one card can is done there',
      ['a', 'z'],
      [],
      [...both('c1'), type('c2', 'z', 1), ...both('c3')],
      ['c1 a x4', 'c2 z x1', 'c3 a x4'],
    ],
    ['nothing on a card that gives something', ['b'], [mdev('u', 'c1', 'a')], [...both('c1'), ...both('c2')], ['c2 b x2']],
    ['nothing where there is no room', ['a'], [], [type('c1', 'a', 0)], []],
    ['nothing where nothing is wanted', [], [], both('c1'), []],
  ])('%s', (_, types, existing, supported, expected) => {
    expect(mdevsToCreate(wish(types), existing, supported).map(({ parent, typeId, count }) => `${parent} ${typeId} x${count}`)).toEqual(
      expected,
    );
  });
});
