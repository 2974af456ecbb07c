import type { Pool } from 'pg';
import { v7 as uuid } from 'uuid';
import type { Resources } from '../../catalog/resources.ts';
import type { Clock } from '../../clock.ts';
import { type Log, LogThrottle } from '../../telemetry/log.ts';
import {
  leaseWebhooks,
  noteDisabled,
  noteFullQueues,
  releaseLeases,
  renewLeases,
  takeMessages,
  upcoming,
  webhookTargets,
} from '../../postgres/webhooks/tries.ts';
import { rounds, type Rounds } from '../../pacing/rounds.ts';
import { Endpoint, GIVEN_UP_AFTER_MS } from './endpoint.ts';
import type { Outcome, Sender } from './sender.ts';
import { type DisableReason, Tries, TryRecorder } from './tries.ts';

interface HeldWebhooksOptions {
  pool: Pool;
  clock: Clock;
  leaseMs?: number | undefined;
  /** How long a breaker is open for the first time (ms). */
  firstPauseMs?: number | undefined;
}

const LEASE_MS = 10_000;
const FIRST_PAUSE_MS = 30_000;
/** Maximum age of cached targets, since a previous secret expires by time alone. */
const TARGETS_MS = 60_000;
/** Maximum number of webhooks that a process holds. */
const MOST_HELD = 20_000;

/** The webhooks that this process has leases of. Times are of `performance.now()`. */
class HeldWebhooks {
  private readonly pool: Pool;
  private readonly clock: Clock;
  private readonly leaseMs: number;
  private readonly firstPauseMs: number;
  readonly holder = uuid();
  private readonly held = new Map<string, Endpoint>();
  private renewAtMs = 0;
  private targetsAtMs = 0;

  constructor({ pool, clock, leaseMs = LEASE_MS, firstPauseMs = FIRST_PAUSE_MS }: HeldWebhooksOptions) {
    this.pool = pool;
    this.clock = clock;
    this.leaseMs = leaseMs;
    this.firstPauseMs = firstPauseMs;
  }

  all(): IterableIterator<Endpoint> {
    return this.held.values();
  }

  get(webhookId: string): Endpoint | undefined {
    return this.held.get(webhookId);
  }

  /** When leases must next be renewed. */
  get nextMs(): number {
    return this.held.size === 0 ? Infinity : this.renewAtMs;
  }

  targetsChanged(): void {
    this.targetsAtMs = 0;
  }

  /** Takes leases of webhooks with due messages. All held webhooks then look for more messages. */
  async lease(): Promise<void> {
    const { holder, leaseMs } = this;
    const most = Math.max(0, MOST_HELD - this.held.size);
    const heldUntilMs = this.untilMs();
    const leased = await leaseWebhooks(this.pool, { holder, nowMs: this.clock.now(), leaseMs, most });
    const added: Endpoint[] = [];
    for (const each of leased) {
      const known = this.held.get(each.webhookId);
      const endpoint = known ?? new Endpoint(each, this.firstPauseMs);
      endpoint.heldUntilMs = heldUntilMs;
      this.held.set(each.webhookId, endpoint);
      if (known === undefined) added.push(endpoint);
    }
    for (const endpoint of this.held.values()) endpoint.mayHaveMore = true;
    await this.loadTargets(added);
  }

  async keep(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs >= this.renewAtMs) await this.renew(nowMs);
    if (nowMs >= this.targetsAtMs) {
      await this.loadTargets([...this.held.values()]);
      this.targetsAtMs = nowMs + TARGETS_MS;
    }
  }

  async releaseAll(): Promise<void> {
    await releaseLeases(this.pool, this.holder, [...this.held.keys()]);
    this.held.clear();
  }

  private async renew(nowMs: number): Promise<void> {
    const needless = [...this.held.values()].filter((endpoint) => endpoint.isNeedless(nowMs));
    if (needless.length > 0) {
      for (const { webhookId } of needless) this.held.delete(webhookId);
      await releaseLeases(
        this.pool,
        this.holder,
        needless.map(({ webhookId }) => webhookId),
      );
    }
    if (this.held.size > 0) {
      const heldUntilMs = this.untilMs();
      const renewed = await renewLeases(this.pool, this.holder, this.leaseMs);
      for (const endpoint of this.held.values()) {
        if (renewed.has(endpoint.webhookId)) endpoint.heldUntilMs = heldUntilMs;
        else this.abandon(endpoint);
      }
    }
    this.renewAtMs = nowMs + this.leaseMs / 3;
  }

  /** Another process has its lease. */
  private abandon(endpoint: Endpoint): void {
    endpoint.target = null;
    endpoint.forget();
    this.held.delete(endpoint.webhookId);
  }

  /** A little earlier than in Postgres, which starts counting later. */
  private untilMs(): number {
    return performance.now() + this.leaseMs * 0.9;
  }

  private async loadTargets(endpoints: readonly Endpoint[]): Promise<void> {
    if (endpoints.length === 0) return;
    const ids = endpoints.map(({ webhookId }) => webhookId);
    const targets = await webhookTargets(this.pool, ids, this.clock.now()).catch((error: unknown) => {
      this.targetsChanged();
      throw error;
    });
    for (const endpoint of endpoints) {
      endpoint.target = targets.get(endpoint.webhookId) ?? null;
      if (endpoint.target === null) endpoint.forget();
    }
  }
}

/** Steps of a delivery: messages are taken from the queue, an answer arrived, tries are recorded. */
export type DeliveryStep = 'taken' | 'answered' | 'recorded';

export interface DeliveriesOptions {
  /** A few connections of its own, so that deliveries delay nothing else. */
  pool: Pool;
  clock: Clock;
  sender: Pick<Sender, 'send' | 'close'>;
  log: Log;
  /** Disables a webhook if it still has this URL. Returns whether it did. */
  disable: (webhook: { tenantNo: number; webhookId: string; url: string }, reason: DisableReason) => Promise<boolean>;
  onTried?: (outcome: Outcome) => void;
  pendingLimit: number;
  leaseMs?: number | undefined;
  firstPauseMs?: number | undefined;
  slots?: number | undefined;
  /** Called at each step, so that tests can stop there. */
  onStep?: ((step: DeliveryStep) => void | Promise<void>) | undefined;
}

/** Pause after Postgres did not answer. */
const RETRY_MS = 1_000;
/** Webhooks whose messages one statement takes, and one round. */
const TAKEN_TOGETHER = 100;
const TAKEN_A_ROUND = 200;
/** A webhook whose last try failed is served this much later than healthy ones. */
const FAILING_LATER_MS = 1_000;
const GRACE_MS = 5_000;
const REPEAT_MS = 10_000;

/**
 * Sends queued messages in rounds. A round begins when messages were queued (`look`), when signals may have been lost
 * (`lookForAll`), when a message falls due, and when the lease of a dead process expires. Leases ensure that one
 * process at a time sends to a webhook. Each process takes a few messages of each webhook ahead, and sends up to 16 at
 * a time to a healthy webhook, one at a time about each user. A slow or failing webhook holds up no other: it has its
 * own messages, share of tries and breaker. Delivery is at least once: a message leaves the queue when its try is
 * recorded, so it stays there if the process dies before.
 */
export class Deliveries {
  private readonly options: DeliveriesOptions;
  private readonly held: HeldWebhooks;
  private readonly recorder: TryRecorder;
  private readonly tries: Tries;
  private readonly rounds: Rounds;
  private readonly logThrottle = new LogThrottle(REPEAT_MS);
  private ended = false;
  private hinted = true;
  /** Whether to look for messages and leases that this process does not know of. */
  private mayHaveMissed = true;
  /** When the next message is to be retried, by Laurel's clock. */
  private nextDueMs = Infinity;
  /** When the next webhook with due messages may be leased (`performance.now()`). */
  private nextFreeMs = Infinity;

  constructor(options: DeliveriesOptions) {
    this.options = options;
    const { pool, clock, sender, log, slots, leaseMs, firstPauseMs, onTried, onStep } = options;
    this.held = new HeldWebhooks({ pool, clock, leaseMs, firstPauseMs });
    this.recorder = new TryRecorder({
      pool,
      clock,
      onFailed: (error) =>
        this.logThrottle.log('', () => log.warn({ err: error }, 'deliveries to webhooks cannot be recorded yet')),
      onRecorded: onStep && (() => onStep('recorded')),
    });
    this.tries = new Tries({
      sender,
      recorder: this.recorder,
      clock,
      log,
      slots,
      onLater: ({ atOnce, dueMs = Infinity, openMs = Infinity }) => {
        this.nextDueMs = Math.min(this.nextDueMs, dueMs);
        this.nextFreeMs = Math.min(this.nextFreeMs, openMs);
        if (atOnce) this.rounds.wake();
      },
      onHopeless: (endpoint, url, reason) => void this.disable(endpoint, url, reason),
      onTried,
      onAnswered: onStep && (() => onStep('answered')),
    });
    this.rounds = rounds(() => this.round());
  }

  /** Call this when messages may have been queued, or fallen due. */
  readonly look = (): void => {
    this.hinted = true;
    this.rounds.wake();
  };

  /** Call this when messages of other processes may now be for this one. */
  readonly lookForAll = (): void => {
    this.mayHaveMissed = true;
    this.look();
  };

  /** Call this when webhooks may have been changed. */
  readonly webhooksChanged = (): void => {
    this.held.targetsChanged();
    this.look();
  };

  private async round(): Promise<number> {
    try {
      return await this.work();
    } catch (error) {
      const { log } = this.options;
      this.logThrottle.log('', () => log.warn({ err: error }, 'deliveries to webhooks were interrupted; they go on'));
      return RETRY_MS;
    }
  }

  /** Does all work that is possible now. Returns the time until the next round (ms). Rejects if Postgres does not answer. */
  private async work(): Promise<number> {
    await this.held.keep();
    const nowMs = performance.now();
    const isDue = nowMs >= this.nextFreeMs || this.options.clock.now() >= this.nextDueMs;
    const isLook = isDue || this.mayHaveMissed;
    // Before the leases: one of another process that ends meanwhile is either taken now, or its end is known.
    if (isLook) await this.lookAhead();
    if (this.hinted || isLook) await this.lease();
    await this.take();
    if (isLook) await this.measureQueues();
    return this.restMs();
  }

  /** Starts no further tries, waits some seconds for those in flight, and gives the leases back. */
  async close(): Promise<void> {
    this.ended = true;
    await this.rounds.close();
    await this.tries.end(GRACE_MS);
    await this.options.sender.close();
    if (await this.recorder.close()) await this.held.releaseAll().catch(() => undefined);
  }

  private async lease(): Promise<void> {
    this.hinted = false;
    try {
      await this.held.lease();
    } catch (error) {
      this.hinted = true;
      throw error;
    }
  }

  private async lookAhead(): Promise<void> {
    const { pool, clock } = this.options;
    // Rows written from here on are found by the next look; tries that end meanwhile set earlier times.
    this.mayHaveMissed = false;
    this.nextDueMs = this.nextFreeMs = Infinity;
    try {
      const { dueMs, freeInMs } = await upcoming(pool, this.held.holder, clock.now());
      if (dueMs !== null) this.nextDueMs = Math.min(this.nextDueMs, dueMs);
      if (freeInMs !== null) this.nextFreeMs = Math.min(this.nextFreeMs, performance.now() + freeInMs);
    } catch (error) {
      this.mayHaveMissed = true;
      throw error;
    }
  }

  private async measureQueues(): Promise<void> {
    const { pool, pendingLimit } = this.options;
    await noteFullQueues(pool, pendingLimit).catch((error: unknown) => {
      this.mayHaveMissed = true;
      throw error;
    });
  }

  /** Starts tries: one webhook of each tenant in turn, longest wait first. */
  private async take(): Promise<void> {
    const nowMs = performance.now();
    const asking: Endpoint[] = [];
    for (const endpoint of this.held.all()) {
      this.tries.begin(endpoint);
      if (endpoint.needsMore(nowMs)) asking.push(endpoint);
    }
    const inTurn = tenantsInTurn(asking);
    for (let from = 0; from < Math.min(inTurn.length, TAKEN_A_ROUND) && !this.ended; from += TAKEN_TOGETHER)
      await this.takeFor(inTurn.slice(from, from + TAKEN_TOGETHER));
    if (asking.length > TAKEN_A_ROUND) this.rounds.wake();
  }

  private async takeFor(asking: readonly Endpoint[]): Promise<void> {
    const { pool, clock, onStep } = this.options;
    const requests = asking.map((endpoint) => endpoint.wanted());
    for (const endpoint of asking) endpoint.asked();
    const messages = await takeMessages(pool, requests, clock.now()).catch((error: unknown) => {
      for (const endpoint of asking) endpoint.mayHaveMore = true;
      throw error;
    });
    if (messages.length > 0) await onStep?.('taken');
    const nowMs = performance.now();
    for (const message of messages) {
      const endpoint = this.held.get(message.webhookId);
      if (endpoint === undefined) continue;
      endpoint.mayHaveMore = true;
      const { payload } = message;
      if (payload === null) this.tries.drop(endpoint, message);
      // If the webhook was disabled or its breaker opened meanwhile, the messages stay in the queue.
      else if (!endpoint.isShut(nowMs)) {
        endpoint.noteLength(payload.length);
        endpoint.lanes.add({ ...message, payload });
      }
    }
    for (const endpoint of asking) this.tries.begin(endpoint);
  }

  private async disable({ webhookId, tenantNo }: Endpoint, url: string, reason: DisableReason): Promise<void> {
    const { log, disable } = this.options;
    try {
      if (await disable({ tenantNo, webhookId, url }, reason))
        log.warn({ webhookId, tenantNo, reason }, 'a webhook is disabled: nothing is sent to it until it is enabled');
    } catch (error) {
      log.warn({ webhookId, tenantNo, err: error }, 'a webhook could not be disabled; it is tried again');
    }
    this.webhooksChanged();
  }

  private restMs(): number {
    const nowMs = performance.now();
    const againMs = this.nextDueMs - this.options.clock.now();
    // Add one ms, since timers may fire that early.
    return Math.max(0, Math.min(this.nextFreeMs - nowMs, this.held.nextMs - nowMs, againMs)) + 1;
  }
}

function tenantsInTurn(endpoints: readonly Endpoint[]): Endpoint[] {
  const sinceMs = ({ takenAtMs, health }: Endpoint): number => takenAtMs + (health.failures > 0 ? FAILING_LATER_MS : 0);
  const ofTenant = new Map<number, number>();
  return endpoints
    .toSorted((a, b) => sinceMs(a) - sinceMs(b))
    .map((endpoint) => {
      const turn = ofTenant.get(endpoint.tenantNo) ?? 0;
      ofTenant.set(endpoint.tenantNo, turn + 1);
      return { endpoint, turn };
    })
    .toSorted((a, b) => a.turn - b.turn)
    .map(({ endpoint }) => endpoint);
}

/** The actor for the audit log, and the reason shown with the webhook. */
const REASONS: Readonly<Record<DisableReason, { who: string; text: string }>> = {
  gone: { who: 'webhook delivery (410 Gone)', text: 'the receiver answered 410 Gone' },
  failing: { who: 'webhook delivery (failing)', text: 'every try failed for 5 days' },
};

interface DisabledWebhook {
  tenantNo: number;
  webhookId: string;
  url: string;
}

/**
 * Disables a webhook by an edit of the catalog, with an entry in the audit log. Returns whether it did. Skips a webhook
 * that was disabled, deleted or given another URL meanwhile, and one that has been failing only since its last edit,
 * which restarts the five days.
 */
export async function disableWebhook(
  resources: Pick<Resources, 'edit'>,
  { tenantNo, webhookId, url }: DisabledWebhook,
  reason: DisableReason,
): Promise<boolean> {
  const { who, text } = REASONS[reason];
  const { changes } = await resources.edit(tenantNo, { who }, async (draft, client) => {
    const webhook = draft.get('webhook', webhookId);
    if (webhook?.enabled !== true || webhook.url !== url) return;
    if (reason === 'failing' && draft.nowMs - webhook.updated < GIVEN_UP_AFTER_MS) return;
    draft.update('webhook', webhookId, { ...webhook, enabled: false });
    await noteDisabled(client, { webhookId, reason: text, nowMs: draft.nowMs });
  });
  return changes.length > 0;
}
