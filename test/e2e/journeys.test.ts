// The user's journeys on the local cluster, in the order in which a user would make them.
import { afterEach, describe } from 'vitest';
import { diagnose } from './harness.js';
import { access } from './journeys/access.js';
import { agent } from './journeys/agent.js';
import { clients } from './journeys/clients.js';
import { containerDisks } from './journeys/container-disks.js';
import { firmware } from './journeys/firmware.js';
import { hooks } from './journeys/hooks.js';
import { hotplug } from './journeys/hotplug.js';
import { install } from './journeys/install.js';
import { instancetypes } from './journeys/instancetypes.js';
import { ipv6 } from './journeys/ipv6.js';
import { kills } from './journeys/kills.js';
import { kinds } from './journeys/kinds.js';
import { lifecycle } from './journeys/lifecycle.js';
import { operations } from './journeys/operations.js';
import { refusals } from './journeys/refusals.js';
import { streams } from './journeys/streams.js';
import { stuck } from './journeys/stuck.js';
import { subresources } from './journeys/subresources.js';
import { uninstall } from './journeys/uninstall.js';
import { volumes } from './journeys/volumes.js';

afterEach(async (context) => {
  if (context.task.result?.state === 'fail') console.error(await diagnose());
});

describe('install', install);
describe('access', access);
describe('refusals', refusals);
describe('kinds', kinds);
describe('clients of others', clients);
describe('life cycle', lifecycle);
describe('both address families', ipv6);
describe('container disks', containerDisks);
describe('volumes', volumes);
describe('hot-plugging', hotplug);
describe('hooks', hooks);
describe('operations', operations);
describe('guest agent', agent);
describe('firmware', firmware);
describe('instance types', instancetypes);
describe('streams', streams);
describe('subresources', subresources);
describe('stuck objects', stuck);
describe('kill -9', kills);
describe('uninstall', uninstall);
