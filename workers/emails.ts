import { createEmailSender } from '../src/engine/messages/channel-sender.ts';
import { createSealer } from '../src/engine/messages/sealed-secrets.ts';
import { EmailDeliveries, type EmailDeliveriesOptions } from '../src/engine/messages/email-deliveries.ts';
import { createPreparing } from '../src/engine/messages/prepare-email.ts';
import { unsubscribeLinksOf } from '../src/engine/messages/unsubscribe-links.ts';
import { OutcomeCounts } from '../src/redis/work-counts.ts';
import { EMAIL_COUNTS_KEY } from '../src/redis/keys.ts';
import type { KeyedIds } from '../src/engine/ids.ts';
import type { Core } from '../src/processes/core.ts';

export type EmailOptions = Pick<
  EmailDeliveriesOptions,
  'everyMs' | 'leaseMs' | 'turnMs' | 'firstPauseMs' | 'onStep'
> & {
  timeoutMs?: number;
};

interface EmailSettings {
  publicUrl?: string | null;
  secretsKey?: Buffer | null;
  delivery?: { allowPrivate?: boolean };
  emails?: EmailOptions;
}

export interface Emails {
  /** Call this when e-mails may be due. */
  readonly look: () => void;
  /** Begins no further e-mail, and waits some seconds for those in progress. */
  close(): Promise<void>;
}

/** Postgres connections: for claims, results and leases. */
const POOL_SIZE = 3;

/** Sends the e-mails of tenants with a channel. Does nothing without `PUBLIC_URL`, which the links to unsubscribe need. */
export function startEmails(
  core: Core & { ids: KeyedIds; isClockRight: () => boolean },
  { publicUrl = null, secretsKey = null, delivery, emails = {} }: EmailSettings,
): Emails {
  if (publicUrl === null) return { look: () => undefined, close: () => Promise.resolve() };
  const { redis, catalogs, clock, guard, ids, log, isClockRight } = core;
  const pool = core.createPool({ max: POOL_SIZE });
  const counts = new OutcomeCounts(redis, EMAIL_COUNTS_KEY);
  const sealer = secretsKey === null ? null : createSealer(secretsKey);
  const { timeoutMs, ...options } = emails;
  const sending = { allowPrivate: delivery?.allowPrivate ?? false, ...(timeoutMs !== undefined && { timeoutMs }) };
  const preparing = { redis, pool, catalogs, clock, links: unsubscribeLinksOf(ids), publicUrl };
  const deliveries = new EmailDeliveries({
    ...options,
    pool,
    clock,
    log,
    // A user who is missing in an incomplete Redis would look deleted.
    mayWork: () => guard.isWhole && isClockRight(),
    createSender: (channel) => createEmailSender(channel, sealer, sending),
    preparing: (tenantNo) => createPreparing(preparing, tenantNo),
    onEnd: (status) => counts.note(status === 'waiting' ? 'retried' : status),
  });
  return {
    look: deliveries.look,
    close: async () => {
      await deliveries.close();
      await counts.flush();
    },
  };
}
