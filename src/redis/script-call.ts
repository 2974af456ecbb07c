import type { Redis } from 'ioredis';
import type { ReplicaAcknowledgement } from './replica-acknowledgement.ts';

export type Words = (string | number | Buffer)[];

/** A call of a script's function. */
export interface Call {
  name: string;
  keys: string[];
  args: Words;
  /** Asked before it is made a second time, since Redis did not know the script. */
  mayStill?: (() => boolean) | undefined;
  /** Where replicas are to have what it writes; null, or without it: nobody asks. The same for all calls of a connection that are joined. */
  acknowledgement?: Pick<ReplicaAcknowledgement, 'noteOffset'> | null | undefined;
}

/** Calls that others can join, see `JoinedCalls`. */
export interface Joinable {
  takes(redis: Redis): boolean;
  add(call: Call): Promise<unknown>;
}
