import { expect, test } from 'vitest';
import { firstUrl, parseRedisEntries } from '../src/redis-entries.ts';

test.each([
  ['redis://a', [['a:6379', 'redis://a']]],
  ['redis://a:1/2', [['a:1', 'redis://a:1/2']]],
  [
    'redis://a,rediss://:p,w@b',
    [
      ['a:6379', 'redis://a'],
      ['b:6379', 'rediss://:p,w@b'],
    ],
  ],
  [
    'east=redis://a,west=redis://b',
    [
      ['east', 'redis://a'],
      ['west', 'redis://b'],
    ],
  ],
  ['a:1=redis://b:2', [['a:1', 'redis://b:2']]],
  [
    'redis+sentinel://s1,s2:1/east,redis+sentinel://s3,s4/west',
    [
      ['east', 'redis+sentinel://s1,s2:1/east'],
      ['west', 'redis+sentinel://s3,s4/west'],
    ],
  ],
])('%s', (text, entries) => {
  expect(parseRedisEntries(text)).toEqual(entries.map(([name, url]) => ({ name, url })));
  expect(firstUrl(text)).toBe(entries[0]![1]);
});

test.each([
  ['redis://a,redis://a', 'names "a:6379" twice'],
  ['one=redis://a,one=redis://b', 'names "one" twice'],
  ['redis://a,http://b', 'has a host that is not'],
  ['nothing', 'must be a URL'],
  ['east=http://a', 'must be a URL'],
])('%s is refused', (text, why) => expect(parseRedisEntries(text)).toContain(why));
