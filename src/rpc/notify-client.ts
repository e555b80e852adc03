// The launcher's end of the notify service: reports its domain and things worth an event. Never retries: the launcher's own notify-client does.
import type { Response } from './generated/notify-v1.js';
import { LightChannel } from './light/call.js';
import { decodeMessage, encodeMessage, NOTIFY_INFO_SERVICE, NOTIFY_SERVICE, PACKAGES } from './light/message.js';
import { type DomainEvent, encodeDomainEvent, encodeK8sEvent, type LauncherEvent } from './notify-codec.js';
import { checkSocketPath } from './socket-file.js';
import { agreeOnVersion, NOTIFY_VERSION } from './versions.js';
import { fromWire } from './wire-error.js';

const DEADLINE_MS = 10_000;

export interface NotifyClient {
  negotiate(): Promise<number>;
  domainEvent(event: DomainEvent): Promise<void>;
  k8sEvent(event: LauncherEvent): Promise<void>;
  close(): void;
}

/** Connects lazily and anew after each failure; calls reject while nobody listens. */
export function createNotifyClient(socketPath: string): NotifyClient {
  checkSocketPath(socketPath);
  const channel = new LightChannel(socketPath);
  const send = async (method: string, requestType: string, request: object): Promise<void> => {
    const target = { service: NOTIFY_SERVICE, method, deadlineMs: DEADLINE_MS };
    const answer = await channel.call(target, encodeMessage(requestType, { ...request }, PACKAGES.notify));
    const { success, message } = decodeMessage('Response', answer.message, PACKAGES.notify) as unknown as Response;
    if (!success) throw fromWire(message || 'the node agent refused without a reason', answer.trailer);
  };
  return {
    async negotiate() {
      const target = { service: NOTIFY_INFO_SERVICE, method: 'Info', deadlineMs: DEADLINE_MS };
      const { message } = await channel.call(target, Buffer.alloc(0));
      const { supportedNotifyVersions } = decodeMessage('NotifyInfoResponse', message, PACKAGES.notifyInfo);
      return agreeOnVersion([NOTIFY_VERSION], supportedNotifyVersions as number[], 'the node agent');
    },
    domainEvent: (event) => send('HandleDomainEvent', 'DomainEventRequest', encodeDomainEvent(event)),
    k8sEvent: (event) => send('HandleK8sEvent', 'K8sEventRequest', encodeK8sEvent(event)),
    close: () => channel.close(),
  };
}
