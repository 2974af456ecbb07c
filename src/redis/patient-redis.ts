import { Redis, type RedisOptions } from 'ioredis';

/** The client's internal step for a connection that closes for good. It omits this step while it waits to reconnect. */
interface Closing {
  setStatus(status: 'end'): void;
  flushQueue(error: Error): void;
}

/** A connection and its duplicates. */
interface Family {
  readonly members: Set<PatientRedis>;
  isOver: boolean;
}

const CLOSED = 'Connection is closed.';

/**
 * A connection that can be ended while it waits to reconnect. A plain client never emits `end` in that case, so whoever waits
 * for it, such as a BullMQ worker that closes, would wait forever. The same holds for duplicates, which BullMQ makes.
 */
export class PatientRedis extends Redis {
  /** Undefined while the base constructor connects. */
  private family: Family | undefined = { members: new Set([this]), isOver: false };

  /**
   * Ends this connection and all its duplicates; none reconnects. Otherwise, a BullMQ worker that closes while all Sentinels are
   * down would keep reconnecting and never close.
   */
  endFamily(): void {
    const family = this.family!;
    family.isOver = true;
    for (const member of family.members) member.disconnect();
  }

  override connect(...given: Parameters<Redis['connect']>): ReturnType<Redis['connect']> {
    return this.family?.isOver === true ? Promise.reject(new Error(CLOSED)) : super.connect(...given);
  }

  override disconnect(reconnect = false): void {
    const isIdle = this.status === 'reconnecting' && !reconnect;
    super.disconnect(reconnect);
    if (!isIdle) return;
    const closing = this as unknown as Closing;
    closing.setStatus('end');
    closing.flushQueue(new Error(CLOSED));
  }

  override duplicate(override: Parameters<Redis['duplicate']>[0] = {}): Redis {
    const copy = new PatientRedis(Object.assign({}, this.options, override) as Omit<RedisOptions, 'replyMapping'>);
    copy.join(this.family!);
    return copy;
  }

  private join(family: Family): void {
    this.family = family;
    family.members.add(this);
  }
}
