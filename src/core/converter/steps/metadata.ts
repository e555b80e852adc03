// What a restarted launcher must find again in the domain: whose it is and how long it may take to shut down.
import type { Fragment, Step } from '../step.js';

export const metadata: Step<'metadata'> = {
  name: 'metadata',
  render({ metadata: known }): Fragment {
    const graceperiod = known && { deletionGracePeriodSeconds: known.gracePeriodSeconds };
    return { metadata: { kubevirt: { xmlns: 'http://kubevirt.io', uid: known?.uid ?? '', graceperiod } } };
  },
};
