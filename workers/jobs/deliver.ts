import type { Logger } from 'pino';
import { Deliveries, type DeliveriesOptions } from '../../src/engine/webhooks/deliveries.ts';
import { LogThrottle } from '../../src/log/log-throttle.ts';
import { rounds } from '../../src/rounds.ts';

/** How soon is tried again what Postgres did not answer. */
const RETRY_MS = 1_000;
/** The same line is not logged again sooner. */
const REPEAT_MS = 10_000;

export interface DeliverWorker {
  /** Messages may have been made, or fallen due. */
  readonly look: () => void;
  /** Webhooks may have been changed. */
  readonly webhooksChanged: () => void;
  /** See `Deliveries.lookForAll`. */
  readonly lookForAll: () => void;
  /** Begins nothing further, waits some seconds for tries under way. */
  close(): Promise<void>;
}

/** Sends what waits for webhooks, in this process. */
export function deliverWorker(options: Omit<DeliveriesOptions, 'onWork' | 'log'> & { log: Logger }): DeliverWorker {
  const { log } = options;
  const logThrottle = new LogThrottle(REPEAT_MS);
  const deliveries: Deliveries = new Deliveries({ ...options, onWork: () => running.wake() });
  const running = rounds(async () => {
    try {
      return await deliveries.round();
    } catch (error) {
      logThrottle.log('', () => log.warn({ err: error }, 'deliveries to webhooks were interrupted; they go on'));
      return RETRY_MS;
    }
  });
  return {
    look: () => deliveries.look(),
    webhooksChanged: () => deliveries.webhooksChanged(),
    lookForAll: () => deliveries.lookForAll(),
    close: async () => {
      await running.close();
      await deliveries.close();
    },
  };
}
