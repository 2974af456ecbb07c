import type { BatchEventResults } from '../../domain/event.ts';
import type { MadeEvent } from './events.ts';

/** Sums of values are whole numbers of millionths, which are exact. */
const MILLION = 1e6;
const HASH_BOUND = 2 ** 52;

/** What Laurel must have of one user and metric. */
export interface Account {
  /** Acknowledged events, and the sum of their values in millionths. */
  count: number;
  sum: number;
  /** Sum of the hashes of the acknowledged events' IDs, modulo 2^52: equal for equal sets, in any order. */
  ids: number;
  /** Acknowledged events whose IDs the answer did not contain. */
  withoutId: number;
  /** Events whose outcome is unknown and that had no idempotency key: they may have been recorded. */
  unknown: number;
  unknownSum: number;
}

const emptyAccount = (): Account => ({ count: 0, sum: 0, ids: 0, withoutId: 0, unknown: 0, unknownSum: 0 });

/** Accounts by user and metric. */
export type Accounts = Map<string, Map<string, Account>>;

/** A ledger in a form that one process can send to another. */
export interface LedgerParts {
  accounts: [user: string, metrics: [metric: string, account: Account][]][];
  unsettled: MadeEvent[];
}

export const millionths = (value: number): number => Math.round(value * MILLION);

export const addIds = (one: number, other: number): number => (one + other) % HASH_BOUND;

/** A number below 2^52 for an event ID: two FNV-1a hashes. */
export function idHash(id: string): number {
  let [a, b] = [0x811c9dc5, 0x9dc5811c];
  for (let at = 0; at < id.length; at += 1) {
    const code = id.charCodeAt(at);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x01000193) ^ (b >>> 15);
  }
  return (a >>> 0) * 2 ** 20 + ((b >>> 0) >>> 12);
}

/** Statuses after which an event may have been recorded, or may still be. */
const mayBeRecorded = (status: string): boolean => !/^[234]\d\d$/.test(status);

/** Counts every event that Laurel acknowledged, to compare it with what Laurel stored. */
export class Ledger {
  readonly accounts: Accounts = new Map();
  /** Events with idempotency keys whose outcome is unknown: sending them again settles them. */
  unsettled: MadeEvent[] = [];

  /** Notes the answer to events that one request submitted. */
  note(events: readonly MadeEvent[], status: string, body: string): void {
    if (events.length === 0) return;
    if (mayBeRecorded(status)) return this.noteUnknown(events);
    if (!status.startsWith('2')) return;
    if (body.startsWith('{"accepted":')) return this.noteBatch(events, status, body);
    const id = /"eventId":"([^"]+)"/.exec(body)?.[1];
    const guarded = body.includes('"guarded":') ? guardedOf(JSON.parse(body)) : null;
    if (guarded?.action === 'quarantine') return;
    this.acknowledge(events[0]!, id, guarded?.value);
  }

  merge({ accounts, unsettled }: LedgerParts): void {
    for (const [user, metrics] of accounts)
      for (const [metric, from] of metrics) {
        const to = this.account(user, metric);
        to.count += from.count;
        to.sum += from.sum;
        to.ids = addIds(to.ids, from.ids);
        to.withoutId += from.withoutId;
        to.unknown += from.unknown;
        to.unknownSum += from.unknownSum;
      }
    this.unsettled.push(...unsettled);
  }

  parts(): LedgerParts {
    const accounts = [...this.accounts].map(([user, metrics]): LedgerParts['accounts'][number] => [user, [...metrics]]);
    return { accounts, unsettled: this.unsettled };
  }

  /** An event that stays unsettled: whether it was recorded cannot be found out. */
  giveUp({ metricKey, event }: MadeEvent): void {
    const account = this.account(event.user.id, metricKey);
    account.unknown += 1;
    account.unknownSum += millionths(event.value);
  }

  private noteUnknown(events: readonly MadeEvent[]): void {
    for (const made of events)
      if (made.idempotencyKey === null) this.giveUp(made);
      else this.unsettled.push(made);
  }

  private noteBatch(events: readonly MadeEvent[], status: string, body: string): void {
    // 202: queued, and not processed in time for the results.
    const results = status === '202' ? [] : (JSON.parse(body) as BatchEventResults).results;
    for (const [at, made] of events.entries()) {
      const result = results[at];
      if (result?.error !== undefined || result?.guarded?.action === 'quarantine') continue;
      this.acknowledge(made, result?.eventId, result?.guarded?.value);
    }
  }

  private acknowledge({ metricKey, event }: MadeEvent, id: string | undefined, clampedTo: number | undefined): void {
    const account = this.account(event.user.id, metricKey);
    account.count += 1;
    account.sum += millionths(clampedTo ?? event.value);
    if (id === undefined) account.withoutId += 1;
    else account.ids = addIds(account.ids, idHash(id));
  }

  private account(user: string, metric: string): Account {
    let metrics = this.accounts.get(user);
    if (metrics === undefined) this.accounts.set(user, (metrics = new Map()));
    let account = metrics.get(metric);
    if (account === undefined) metrics.set(metric, (account = emptyAccount()));
    return account;
  }
}

const guardedOf = (body: unknown): { action?: string; value?: number } | null =>
  (body as { guarded?: { action?: string; value?: number } }).guarded ?? null;
