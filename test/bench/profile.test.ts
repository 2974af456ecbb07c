import { expect, test } from 'vitest';
import { readProfile } from '../../bench/instructions/profile.ts';

const DUMP = `# callgrind format
version: 1
positions: line
events: Ir

ob=/usr/bin/redis-server
fl=???
fn=fcallCommand
0 100
cfn=mp_pack
calls=2 0
0 30
cfi=???
cob=/usr/lib/libc.so.6
cfn=memcpy
calls=1 0
0 5

fn=mp_pack
0 20
cfn=memcpy
calls=4 0
0 10

ob=/usr/lib/libc.so.6
fn=memcpy
12 10
+3 5

totals: 135
`;

test('each instruction counts once in the total, and in every function on its call stack', () => {
  const { total, inclusive } = readProfile(DUMP);
  expect(total).toBe(135);
  expect(Object.fromEntries(inclusive)).toEqual({ mp_pack: 30, memcpy: 15 });
});
