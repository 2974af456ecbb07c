import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { inlineNames, lineAt, luaTokens } from '../../src/redis/lua-library.ts';

// Lua accesses packed values by the names that src/packed declares. Inlining refuses undeclared names; this test refuses
// every other access to a field, position or code.

/** Variables that hold packed maps. */
const PACKED = /^(state|copy|counted|record|refusal|sent)$/;
/** Words of plans, as short as a packed field. */
const SHORT_WORDS = ['no', 'at', 'of', 'by', 'to', 'on', 'id'];
/** Texts compared beside codes: nothing, true. */
const COMPARED = ['', '1'];
/** The first of a list, and positions in replies of Redis. */
const BARE = [
  'fields [ 1 ]',
  'halves [ 0 ]',
  'halves [ 1 ]',
  'parts [ 1 ]',
  'found [ 1 ]',
  'entries [ 1 ]',
  'entries [ 1 ] [ 1 ]',
  'entry [ 2 ]',
  'entry [ 2 ] [ 4 ]',
  "'WITHSCORES' ) [ 2 ]",
];
/** Lists of pairs, or of what each command needs: Redis's own. */
const PAIRS = ['pairs_of', 'entry', 'reply'];

/** Why a text breaks the rules, a line each. `isScript`: it has its own KEYS and ARGV, but not by number. */
function findings(text: string, isScript: boolean): string[] {
  const tokens = luaTokens(text).filter(({ kind }) => kind !== 'other');
  const textAt = (n: number): string => tokens[n]?.text ?? '';
  /** The token and some before it, a space between any two. */
  const upTo = (n: number, count: number): string =>
    Array.from({ length: count + 1 }, (_, at) => textAt(n - count + at)).join(' ');
  return tokens.flatMap(({ kind, text: token, at }, n) => {
    const found: string[] = [];
    const isIndex = textAt(n - 1) === '[' && textAt(n + 1) === ']';
    if (kind === 'name' && textAt(n - 1) === '.' && !/^[A-Z][A-Z_]*$/.test(textAt(n - 2))) {
      if (token.length <= 2 && !SHORT_WORDS.includes(token)) found.push(`.${token} is a field without name`);
      else if (PACKED.test(textAt(n - 2)) && textAt(n - 3) !== '.')
        found.push(`${textAt(n - 2)}.${token} is not declared`);
    }
    if (kind === 'name' && token.length <= 2 && /^[{,]$/.test(textAt(n - 1)) && textAt(n + 1) === '=')
      if (!SHORT_WORDS.includes(token)) found.push(`${token} = is a field without name`);
    if (kind === 'string' && isIndex && token !== "'last-generated-id'")
      found.push(`[${token}] is a field without name`);
    if (kind === 'string' && /^[=~]=$/.test(textAt(n - 1)) && !COMPARED.includes(token.slice(1, -1)))
      found.push(`${token} is a code without name`);
    if (kind === 'string' && /^'[a-z]{1,2}'$/.test(token)) found.push(`${token} is a field or code without name`);
    if (kind === 'number' && isIndex && /^(\w+|\]|\))$/.test(textAt(n - 2))) {
      const isBare = BARE.some((bare) => upTo(n + 1, 12).endsWith(` ${bare}`));
      if (!isBare) found.push(`${upTo(n + 1, 4)} is a position without name`);
    }
    if (kind === 'number' && upTo(n + 1, 4) === `[ at + ${token} ]` && !PAIRS.includes(textAt(n - 4)))
      found.push(`${upTo(n + 1, 5)} is an offset without name`);
    if (kind === 'name' && !isScript && /^(KEYS|ARGV)$/.test(token)) found.push(`${token} belongs to the script`);
    return found.map((what) => `${lineAt(text, at)}: ${what}`);
  });
}

const files = readdirSync(join(PACKAGE_ROOT, 'lua'), { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.lua'),
);

test.each(files)('%s accesses packed values by declared names only', (file) => {
  const text = readFileSync(join(PACKAGE_ROOT, 'lua', file), 'utf8');
  expect(findings(text, !file.includes('lib/'))).toEqual([]);
  expect(() => inlineNames(text, file)).not.toThrow();
});

test.each([
  ['return state.s', '.s is a field without name'],
  ['return state.streaks', 'state.streaks is not declared'],
  ['record.anything = 1', 'record.anything is not declared'],
  ["return state['s']", "['s'] is a field without name"],
  ["return { k = 'n' }", 'k = is a field without name'],
  ["return reply == 'n'", "'n' is a code without name"],
  ["return why == 'gone'", "'gone' is a code without name"],
  ["redis.call('HGET', key, 'd')", "'d' is a field or code without name"],
  ['return streak[3]', 'streak [ 3 ] is a position without name'],
  ['return state[USER.streaks][1][3]', '] [ 3 ] is a position without name'],
  ['return scores[at + 2]', 'scores [ at + 2 ] is an offset without name'],
  ['return KEYS[2]', 'KEYS belongs to the script'],
])('refuses %s', (text, what) => {
  expect(findings(text, false).join('\n')).toContain(what);
});

test('a script reads no key and no argument by its number', () => {
  for (const list of ['KEYS', 'ARGV'])
    expect(findings(`local outbox = ${list}[1]`, true).join('\n')).toContain('is a position without name');
});
