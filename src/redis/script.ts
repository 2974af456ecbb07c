import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Redis } from 'ioredis';
import { PACKAGE_ROOT } from '../package-root.ts';

const INCLUDE = /^--- @include "(.+)"$/gm;

/**
 * The text of a Lua file with its includes before it, each once. Throws on a missing or circular include.
 * `--- @include "name"` is relative to the including file.
 */
export function readScript(path: string): string {
  const done = new Set<string>();
  const parts: string[] = [];
  const visit = (file: string, chain: string[]): void => {
    if (chain.includes(file)) throw new Error(`Circular include: ${[...chain, file].join(' → ')}`);
    if (done.has(file)) return;
    const text = readFileSync(file, 'utf8');
    for (const [, name] of text.matchAll(INCLUDE)) visit(join(dirname(file), `${name}.lua`), [...chain, file]);
    done.add(file);
    parts.push(text.replaceAll(INCLUDE, '').trim());
  };
  visit(path, []);
  return `${parts.join('\n\n')}\n`;
}

/** A Lua script: sent by its hash, and with its text when Redis does not know it (first use, restart). */
export class Script {
  readonly text: string;
  private readonly sha: string;

  /** `name`: a file of `lua/`, without its ending. The shebang makes Redis refuse it whole when memory is full. */
  constructor(name: string) {
    this.text = `#!lua\n${readScript(join(PACKAGE_ROOT, 'lua', `${name}.lua`))}`;
    this.sha = createHash('sha1').update(this.text).digest('hex');
  }

  /** Runs the script; answers are buffers. Errors are those of Redis and of the connection. */
  async run(redis: Redis, keys: string[], args: (string | number | Buffer)[]): Promise<unknown> {
    try {
      return await redis.callBuffer('EVALSHA', this.sha, keys.length, ...keys, ...args);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return redis.callBuffer('EVAL', this.text, keys.length, ...keys, ...args);
    }
  }
}
