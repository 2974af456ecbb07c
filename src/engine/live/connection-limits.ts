import { AppError } from '../../errors.ts';
import { holderOf, type LiveGrant } from './grants.ts';

/** The most live streams of a process. */
export interface LiveLimits {
  connections: number;
  /** Of one user, with all of the user's application keys. An admin key may open streams for all users: only `connections` limits it. */
  perUser: number;
}

/** Counts the streams of a process, in all and by holder (`holderOf`). Each process has these limits for itself. */
export class ConnectionLimits {
  private readonly limits: LiveLimits;
  private all = 0;
  private readonly ofHolders = new Map<string, number>();

  constructor(limits: LiveLimits) {
    this.limits = limits;
  }

  get count(): number {
    return this.all;
  }

  /**
   * Counts one more stream. The returned function ends that; to call it again does nothing. Throws 503 if the process has no room, 429 if the
   * user has too many.
   */
  admit(grant: LiveGrant): () => void {
    const { connections, perUser } = this.limits;
    const holder = holderOf(grant);
    const ofHolder = this.ofHolders.get(holder) ?? 0;
    if (this.all >= connections)
      throw new AppError('unavailable', 'This server carries as many live streams as it may; try again in a moment.');
    if (grant.kind === 'application' && ofHolder >= perUser)
      throw new AppError('too_many_requests', `The user has ${perUser} live streams already; close one of them.`, {
        headers: { 'Retry-After': RETRY_S },
      });
    this.all += 1;
    this.ofHolders.set(holder, ofHolder + 1);
    let counted = true;
    return () => {
      if (!counted) return;
      counted = false;
      this.all -= 1;
      less(this.ofHolders, holder);
    };
  }
}

const RETRY_S = '5';

function less<K>(counts: Map<K, number>, key: K): void {
  const count = counts.get(key)! - 1;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
