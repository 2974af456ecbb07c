import type { Redis } from 'ioredis';

export type Words = (string | number | Buffer)[];

/** A call of a script's function. `mayStill`: asked before it is made a second time, since Redis did not know the script. */
export interface Call {
  name: string;
  keys: string[];
  args: Words;
  mayStill?: (() => boolean) | undefined;
}

/** Calls that others can join, see `JoinedCalls`. */
export interface Joinable {
  takes(redis: Redis): boolean;
  add(call: Call): Promise<unknown>;
}
