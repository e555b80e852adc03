// Which volumes may come to a running guest and go again. Pure; asked by everything that treats such volumes apart.
import type { Volume } from '../../api/index.js';

/** Claims that may come and go; memory dumps have a way of their own. A volume has one source. */
export const isHotpluggable = ({ persistentVolumeClaim, dataVolume }: Volume): boolean =>
  persistentVolumeClaim?.hotpluggable === true || dataVolume?.hotpluggable === true;
