import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { libraryText, readScript, scriptParts } from '../../src/redis/lua-library.ts';
import { connectedRedis } from '../stack/connected-redis.ts';

const redis = await connectedRedis();

const lua = join(PACKAGE_ROOT, 'lua');
const commands = readdirSync(lua).filter((file) => file.endsWith('.lua'));
const includes = readdirSync(join(lua, 'lib'));

test.each(commands)('%s: every include exists, none is circular, none is inlined twice', (file) => {
  const text = readScript(join(lua, file));
  expect(text).not.toContain('@include');
  const functions = [...text.matchAll(/^local function (\w+)/gm)].map(([, name]) => name);
  expect(new Set(functions).size).toBe(functions.length);
});

test.each(includes)('lib/%s is used', (file) => {
  const name = file.replace('.lua', '');
  const others = [...commands.map((f) => join(lua, f)), ...includes.map((f) => join(lua, 'lib', f))];
  expect(others.some((other) => readFileSync(other, 'utf8').includes(`${name}"`))).toBe(true);
});

test.each(includes)('lib/%s includes what it calls', (file) => {
  const own = readScript(join(lua, 'lib', file));
  const defined = new Map<string, string>();
  for (const other of includes) {
    for (const [, name] of readFileSync(join(lua, 'lib', other), 'utf8').matchAll(/^local function (\w+)/gm)) {
      defined.set(name!, other);
    }
  }
  for (const [name, definedIn] of defined) {
    if (new RegExp(`\\b${name}\\(`).test(own)) {
      expect(own, `${file} calls ${name} of ${definedIn}`).toContain(`local function ${name}(`);
    }
  }
});

test.each(commands)('%s documents KEYS, ARGV, Returns, Errors, Writes and Cost, in this order', (file) => {
  const text = readFileSync(join(lua, file), 'utf8');
  const positions = ['KEYS:', 'ARGV:', 'Returns:', 'Errors:', 'Writes:', 'Cost:'].map((word) => text.indexOf(word));
  expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  expect(positions[0]).toBeGreaterThan(0);
});

test.each(commands)('%s: Redis accepts it as a library, with room for more names', async (file) => {
  const name = file.replace('.lua', '');
  const parts = scriptParts(name);
  const text = libraryText(name, parts);
  // Lua accepts 200 local variables of a library, not counting those of the script itself. Some remain for the future.
  const names = text.replace(parts.own, '').match(/^local (function )?\w+(, \w+)*/gm)!;
  expect(names.flatMap((some) => some.split(',')).length).toBeLessThan(195);
  await redis.call('FUNCTION', 'LOAD', 'REPLACE', `#!lua name=${name}\n${text}`);
});

test('refuses a missing and a circular include', () => {
  const folder = mkdtempSync(join(tmpdir(), 'laurel-lua-'));
  try {
    writeFileSync(join(folder, 'a.lua'), '--- @include "b"\n');
    writeFileSync(join(folder, 'b.lua'), '--- @include "a"\n');
    writeFileSync(join(folder, 'c.lua'), '--- @include "nowhere"\n');
    expect(() => readScript(join(folder, 'a.lua'))).toThrow('Circular include');
    expect(() => readScript(join(folder, 'c.lua'))).toThrow('nowhere');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
