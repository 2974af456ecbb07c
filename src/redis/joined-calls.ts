import type { Redis } from 'ioredis';
import type { Script } from './script.ts';
import type { Call, Joinable } from './script-call.ts';

interface Joining {
  call: Call;
  resolve: (reply: unknown) => void;
  reject: (error: unknown) => void;
}

/**
 * Calls of a script, of shards of one server, that leave as one command: each with its own belief, reply and error, as if it
 * went alone (`libraryText`). What a command costs Redis and us is paid once for all of them.
 */
export class JoinedCalls implements Joinable {
  private readonly script: Script;
  private readonly redis: Redis;
  private joining: Joining[] | null = [];

  /** `redis`: the connection to the server. */
  constructor(script: Script, redis: Redis) {
    this.script = script;
    this.redis = redis;
  }

  /** Whether a call over this connection can still join. */
  takes(redis: Redis): boolean {
    return this.joining !== null && redis === this.redis;
  }

  /** The reply to a call that goes with the others. Only while `takes` says so; rejects as a call alone does. */
  add(call: Call): Promise<unknown> {
    return new Promise((resolve, reject) => void this.joining!.push({ call, resolve, reject }));
  }

  /** Sends what has joined. Resolves when all of it is answered, with errors or without; what comes later goes alone. */
  async send(): Promise<void> {
    const joining = this.joining ?? [];
    this.joining = null;
    try {
      const replies = await this.replies(joining.map(({ call }) => call));
      for (const [index, { resolve, reject }] of joining.entries()) {
        const reply = replies[index];
        if (reply instanceof Error) reject(reply);
        else resolve(reply);
      }
    } catch (error) {
      for (const { reject } of joining) reject(error);
    }
  }

  private async replies(calls: readonly Call[]): Promise<unknown[]> {
    const [first] = calls;
    if (first === undefined) return [];
    return calls.length === 1 ? [await this.script.call(this.redis, first)] : this.script.callJoined(this.redis, calls);
  }
}
