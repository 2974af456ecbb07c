/**
 * States of users that this process wrote recently. A user who sends several events is then not read again: the commit finds out
 * whether somebody else has changed the user meanwhile.
 *
 * Where the requests of a user go to any of several processes, most of these states are outdated. So they are used only while most
 * of them turn out to be current, which is found out with every read, too.
 */
import type { TenantPart } from '../../redis/keys.ts';

/** Bytes of states, with an estimate of what an entry takes beside its bytes. */
const MOST_BYTES = 32 * 1024 * 1024;
const ENTRY_BYTES = 350;
/** Also of users whom another process has deleted meanwhile. */
const MOST_AGE_MS = 600_000;

/** A user who is recalled in vain is computed twice, which costs about as much as a read. */
const LEAST_CURRENT = 0.6;
/** Weight of the latest finding in the moving average. */
const WEIGHT = 1 / 64;

interface Entry {
  state: Buffer;
  /** Monotonic. */
  notedMs: number;
}

export class RecentStates {
  /** Oldest first. */
  private readonly entries = new Map<string, Entry>();
  private bytes = 0;
  /** The share of states that were current when they were compared. */
  private current = LEAST_CURRENT;

  /** The state of a user, if it is probably current; else `null`. */
  recall(part: TenantPart, userId: string): Buffer | null {
    return this.current < LEAST_CURRENT ? null : (this.entries.get(nameOf(part, userId))?.state ?? null);
  }

  /** Notes whether the user's state was the current one. `null`: there is no such user. */
  compare(part: TenantPart, userId: string, current: Buffer | null): void {
    const entry = this.entries.get(nameOf(part, userId));
    if (entry === undefined) return;
    const isCurrent = current !== null && entry.state.equals(current);
    this.current += WEIGHT * ((isCurrent ? 1 : 0) - this.current);
  }

  /** Notes what was written, and forgets what is old or too much. `null`: forgets the user. */
  note(part: TenantPart, userId: string, state: Buffer | null, nowMs = performance.now()): void {
    const name = nameOf(part, userId);
    this.forget(name);
    if (state !== null) {
      // A copy: what was packed or received is a part of a larger buffer.
      const copy = Buffer.allocUnsafeSlow(state.length);
      state.copy(copy);
      this.entries.set(name, { state: copy, notedMs: nowMs });
      this.bytes += copy.length + ENTRY_BYTES;
    }
    for (const [oldest, { notedMs }] of this.entries) {
      if (this.bytes <= MOST_BYTES && nowMs - notedMs <= MOST_AGE_MS) break;
      this.forget(oldest);
    }
  }

  private forget(name: string): void {
    const entry = this.entries.get(name);
    if (entry === undefined) return;
    this.entries.delete(name);
    this.bytes -= entry.state.length + ENTRY_BYTES;
  }
}

const nameOf = ({ tenantNo, shard }: TenantPart, userId: string): string => `${tenantNo}:${shard}:${userId}`;
