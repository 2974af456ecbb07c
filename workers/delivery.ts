import type { Logger } from 'pino';
import { v7 as uuid } from 'uuid';
import { createResources } from '../src/catalog/resources.ts';
import { Deliveries, type DeliveriesOptions, disableWebhook } from '../src/engine/webhooks/deliveries.ts';
import { createSender } from '../src/engine/webhooks/sender.ts';
import type { Core } from '../src/engine/core.ts';
import { DELIVERY_COUNTS_KEY } from '../src/redis/keys.ts';
import { OutcomeCounts } from '../src/redis/work-counts.ts';

export interface DeliveryOptions extends Partial<
  Pick<DeliveriesOptions, 'pendingLimit' | 'leaseMs' | 'firstPauseMs' | 'onStep'>
> {
  /** Whether webhooks may go to private, loopback and link-local addresses. */
  allowPrivate?: boolean;
  timeoutMs?: number;
}

export interface Delivery {
  /** Announces queued messages, after the commit. This process sends them immediately; other workers get a signal. */
  readonly queued: () => void;
  /** Call this when the clock was changed, because messages may be due now. */
  readonly look: () => void;
  /** Call this when messages may have been queued without an announcement. */
  readonly lookForAll: () => void;
  /** Starts no further try, and waits some seconds for those in progress. */
  close(): Promise<void>;
}

/** Postgres connections: for taking messages, recording tries and renewing leases. */
const POOL_SIZE = 3;

const TIMEOUT_MS = 60_000;
/** Maximum number of messages that wait for one webhook. Further ones are logged as failed. */
const PENDING_LIMIT = 100_000;

export function startDelivery(
  core: Core & { log: Logger },
  { timeoutMs = TIMEOUT_MS, allowPrivate = false, pendingLimit = PENDING_LIMIT, ...options }: DeliveryOptions,
): Delivery {
  const { redis, clock, catalogs, changes, signals, traces, log, announce } = core;
  const pool = core.createPool({ max: POOL_SIZE });
  const counts = new OutcomeCounts(redis, DELIVERY_COUNTS_KEY);
  const id = uuid();
  const resources = createResources({ pool, announce, clock, catalogs });
  const deliveries = new Deliveries({
    ...options,
    pool,
    clock,
    sender: createSender({ timeoutMs, allowPrivate, traces }),
    log,
    disable: (webhook, reason) => disableWebhook(resources, webhook, reason),
    onTried: (outcome) => counts.note(outcome),
    pendingLimit,
  });
  const stopListening = signals.listen('deliveries', (from) => {
    if (from === null) deliveries.lookForAll();
    else if (from !== id) deliveries.look();
  });
  const changed = deliveries.webhooksChanged;
  changes.listen({ catalogChanged: changed, anyCatalogChanged: changed, organisationChanged: changed });
  return {
    queued: () => {
      deliveries.look();
      signals.announce('deliveries', id);
    },
    look: deliveries.look,
    lookForAll: deliveries.lookForAll,
    close: async () => {
      stopListening();
      await deliveries.close();
      await counts.flush();
    },
  };
}
