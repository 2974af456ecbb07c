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
const ENTRY_BYTES = 300;

/** A user who is recalled in vain is computed twice, which costs about as much as a read. */
const LEAST_CURRENT = 0.6;
/** Weight of the latest finding in the moving average. */
const WEIGHT = 1 / 64;

export class RecentStates {
  /** Oldest first. */
  private readonly states = new Map<string, Buffer>();
  private bytes = 0;
  /** The share of states that were current when they were compared. */
  private current = LEAST_CURRENT;

  /** The state of a user, if it is probably current; else `null`. */
  recall(part: TenantPart, userId: string): Buffer | null {
    return this.current < LEAST_CURRENT ? null : (this.states.get(nameOf(part, userId)) ?? null);
  }

  /** Notes whether the user's state was the current one. `null`: there is no such user. */
  compare(part: TenantPart, userId: string, current: Buffer | null): void {
    const state = this.states.get(nameOf(part, userId));
    if (state === undefined) return;
    const isCurrent = current !== null && state.equals(current);
    this.current += WEIGHT * ((isCurrent ? 1 : 0) - this.current);
  }

  /** Notes what was written. `null`: forgets the user. */
  note(part: TenantPart, userId: string, state: Buffer | null): void {
    const name = nameOf(part, userId);
    const before = this.states.get(name);
    if (before !== undefined) {
      this.states.delete(name);
      this.bytes -= before.length + ENTRY_BYTES;
    }
    if (state === null) return;
    // A copy: what was packed or received is a part of a larger buffer.
    const copy = Buffer.allocUnsafeSlow(state.length);
    state.copy(copy);
    this.states.set(name, copy);
    this.bytes += copy.length + ENTRY_BYTES;
    for (const [oldest, { length }] of this.states) {
      if (this.bytes <= MOST_BYTES) break;
      this.states.delete(oldest);
      this.bytes -= length + ENTRY_BYTES;
    }
  }
}

const nameOf = ({ tenantNo, shard }: TenantPart, userId: string): string => `${tenantNo}:${shard}:${userId}`;
