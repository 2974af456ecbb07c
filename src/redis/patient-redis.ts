import { Redis, type RedisOptions } from 'ioredis';

/** What the client does when a connection closes for good; it does not call that itself while it waits to reconnect. */
interface Closing {
  setStatus(status: 'end'): void;
  flushQueue(error: Error): void;
}

/**
 * A connection that can be ended while it waits to reconnect. The client's own stays silent then: whoever waits for its `end`,
 * as a BullMQ worker does that is closed, waits for ever. So do its copies, which BullMQ makes.
 */
export class PatientRedis extends Redis {
  override disconnect(reconnect = false): void {
    const isIdle = this.status === 'reconnecting' && !reconnect;
    super.disconnect(reconnect);
    if (!isIdle) return;
    const closing = this as unknown as Closing;
    closing.setStatus('end');
    closing.flushQueue(new Error('Connection is closed.'));
  }

  override duplicate(override: Parameters<Redis['duplicate']>[0] = {}): Redis {
    return new PatientRedis(Object.assign({}, this.options, override) as Omit<RedisOptions, 'replyMapping'>);
  }
}
