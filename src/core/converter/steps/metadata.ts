// What a restarted launcher must find again in the domain: whose it is and how long it may take to shut down.
import type { Step } from '../step.js';
import { el, textEl } from '../xml.js';

export const metadata: Step<'metadata'> = {
  name: 'metadata',
  render({ metadata: known }) {
    const grace = known && el('graceperiod', {}, [textEl('deletionGracePeriodSeconds', known.gracePeriodSeconds)]);
    return { elements: [el('metadata', {}, [el('kubevirt', { xmlns: 'http://kubevirt.io' }, [textEl('uid', known?.uid), grace])])] };
  },
};
