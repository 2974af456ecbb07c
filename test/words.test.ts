import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../src/package-root.ts';

const VERB = '(?:is|are|was|were)';

/**
 * Phrases that force a second reading, with what to write instead. Add a phrase only if ordinary English has no use for it.
 * A space also matches a line break, with the comment marker that follows it.
 */
const PHRASES: readonly [string, string][] = [
  [`(?<!there |there, )\\b${VERB} none\\b`, 'say what does not exist or does not apply'],
  [`\\b(?:${VERB}|counts?|exists?|applies|keeps?|kept|good) no more\\b(?! (?:than|\\w+s)\\b)`, 'no longer'],
  [`\\bas (?:it|they) ${VERB}(?=[.,;:)'"\`]| (?:before|now)\\b)`, 'unchanged'],
  ['\\bthat is so(?= no more|[.,;:])', 'repeat the condition'],
  ['(?<!as )\\bof now\\b(?!\\.\\w)', 'current'],
  ['\\bof before(?=[,;:\'"`])', 'previous, earlier'],
  ['\\b(?:that|which|what|rules?|it) go(?:es)? by(?=[.,;:\'"`]| (?:it|them)\\b)', 'uses, depends on'],
  [`\\b${VERB} at (?:it|rest|work)\\b`, 'works, runs, has ended'],
  ['\\b[Ww]h(?:o|om)ever\\b', 'everyone who, any user'],
  [
    `\\b[Ww]hatever (?:\\w+ ){0,2}(?:${VERB}|has|have|do|does|did|comes?|becam?e|becomes|holds?|happens|begins)\\b`,
    'any, regardless of',
  ],
  [`(?:/\\*\\*|//|--|["'\`#.:]) What ${VERB} (?!new\\b)[^?.;]*(?=[.;'"\`])`, 'a noun'],
  ['\\b(?:[Tt]ells?|[Tt]old)\\b(?! (?:\\w+ ){0,3}apart)', 'report, record, say, answer, publish'],
  [`\\bstands? in (?:Postgres|Redis|the outbox)\\b`, 'is in, holds'],
  ['\\b[Aa]new\\b', 'again'],
];
const MATCHERS = PHRASES.map(([phrase, instead]) => [new RegExp(phrase.replaceAll(' ', ' +'), 'g'), instead] as const);

const folders = ['src', 'workers', 'lua', 'console/src', 'clients', 'test', 'bench', 'docs', 'examples'];
const texts = folders
  .flatMap((folder) =>
    readdirSync(join(PACKAGE_ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  .filter((name) => /\.(?:tsx?|mjs|lua|sql|gd|md)$/.test(name) && name !== join('test', 'words.test.ts'))
  // Built and generated files.
  .filter((name) => !/^(?:clients|examples).*(?:\/dist\/|\/generated\.ts$|\/node_modules\/)/.test(name))
  .concat('README.md', 'CONTRIBUTING.md', 'SECURITY.md');

/** The text on one line, so that a phrase is found across lines; offsets stay the same. */
const onOneLine = (text: string) =>
  text.replace(/\n[ \t]*(?:\*(?!\/)|\/\/|--)?[ \t]*/g, (gap) => ' '.repeat(gap.length));

test('code, comments, tests and documentation use plain words', () => {
  const found = texts.flatMap((file) => {
    const text = readFileSync(join(PACKAGE_ROOT, file), 'utf8');
    const line = onOneLine(text);
    return MATCHERS.flatMap(([matcher, instead]) =>
      Array.from(line.matchAll(matcher), ({ 0: phrase, index }) => {
        const lineNumber = text.slice(0, index).split('\n').length;
        return `${file}:${lineNumber} "${phrase.replace(/ +/g, ' ').trim()}" (${instead})`;
      }),
    );
  });
  expect(found).toEqual([]);
});
