import { Redis, type RedisOptions } from 'ioredis';

/** What the client does when a connection closes for good; it does not call that itself while it waits to reconnect. */
interface Closing {
  setStatus(status: 'end'): void;
  flushQueue(error: Error): void;
}

/** A connection and its copies. */
interface Family {
  readonly members: Set<PatientRedis>;
  isOver: boolean;
}

const CLOSED = 'Connection is closed.';

/**
 * A connection that can be ended while it waits to reconnect. The client's own stays silent then: whoever waits for its `end`,
 * as a BullMQ worker does that is closed, waits for ever. So do its copies, which BullMQ makes.
 */
export class PatientRedis extends Redis {
  /** Not there yet while the client, as it is made, connects. */
  private family: Family | undefined = { members: new Set([this]), isOver: false };

  /**
   * Ends it and all of its copies: none connects again, whoever asks. A BullMQ worker that is closed while all Sentinels are gone
   * would connect again and again, and never be closed.
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
