import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeAjv } from '../../src/operations/validation.ts';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { WEBHOOK_EVENTS } from '../../src/domain/notifications/webhook.ts';
import { contractEvents, contractOperation, contractOperations, OWN_EVENTS } from '../contract/contract.ts';

const ajv = makeAjv();
const surfaces = { application: applicationOperations, admin: adminOperations };
const root = join(import.meta.dirname, '../../src/operations');

/** The IDs of the operations and resources that a file declares. */
function idsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const idsIn = (call: RegExp): string[] => Array.from(text.matchAll(call), ([, id]) => id!);
  return [
    ...idsIn(/\boperation\(\s*'(\w+)'/g),
    ...idsIn(/\badminResource\(\{[^]*?\bid: '(\w+)'/g).flatMap((id) =>
      ['list', 'get', 'create', 'update', 'delete'].map((verb) => `${id}_${verb}`),
    ),
  ];
}

test('lists every operation and resource that is declared', () => {
  const declared = readdirSync(root).flatMap((file) => (file.endsWith('.ts') ? idsOf(file) : []));
  // A separate operation may replace one of a resource.
  const listed = Object.values(surfaces).flatMap((operations) => operations.map(({ id }) => id));
  expect(listed.sort()).toEqual([...new Set(declared)].sort());
});

test.each(['application', 'admin'] as const)('%s: operations are declared for their surface, once each', (surface) => {
  const operations = surfaces[surface];
  expect(operations.filter((operation) => operation.surface !== surface)).toEqual([]);
  const places = operations.flatMap(({ method, path, aliases }) => [path, ...aliases].map((at) => `${method} ${at}`));
  expect(new Set(places).size).toBe(places.length);
});

test.each([...adminOperations, ...applicationOperations])(
  '$id: its schemas compile, as its first request does',
  (of) => {
    const written = [of.params, of.query, of.body].filter((schema) => schema !== null);
    // The items of a bulk body, which are checked one by one, are only in its text.
    for (const schema of [...written, ...(JSON.parse(JSON.stringify(written)) as object[])])
      expect(() => ajv.compile(schema)).not.toThrow();
  },
);

test('on the admin surface no operation names users, so application keys have no access', () => {
  expect(adminOperations.filter(({ namedUsers }) => namedUsers !== null)).toEqual([]);
});

test.each(['application', 'admin'] as const)('%s: has every operation of the contract', (surface) => {
  const shapeOf = (method: string, path: string): string => `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`;
  const ours = new Set(surfaces[surface].map(({ method, path }) => shapeOf(method, path)));
  const theirs = contractOperations(surface);
  expect(theirs.length).toBeGreaterThan(20);
  expect(theirs.filter(({ method, path }) => !ours.has(shapeOf(method, path)))).toEqual([]);
});

test('has every event of the contract, and ten additions', () => {
  expect([...WEBHOOK_EVENTS].sort()).toEqual([...contractEvents(), ...OWN_EVENTS].sort());
});

const both = [...applicationOperations, ...adminOperations];
const inContract = both.filter(({ surface, method, path }) => contractOperation(surface, method, path));

describe('as the contract declares them', () => {
  test.each(inContract.map((operation) => [operation.id, operation] as const))(
    '%s',
    (id, { surface, method, path, ...ours }) => {
      const theirs = contractOperation(surface, method, path)!;
      expect(id).toBe(theirs.operationId);
      const declared = (theirs.parameters ?? []).filter((parameter) => parameter.in === 'query');
      const query = ours.query?.properties ?? {};
      expect(Object.keys(query)).toEqual(expect.arrayContaining(declared.map(({ name }) => name)));
      for (const { name, required = false } of declared) {
        const asked = ((ours.query?.required ?? []) as string[]).includes(name) && !('default' in query[name]!);
        expect([name, asked]).toEqual([name, required]);
      }
      const takesKey = (theirs.parameters ?? []).some(({ name }) => name === 'Idempotency-Key');
      expect(ours.idempotent).toBe(takesKey);
      expect(ours.body !== null).toBe(theirs.requestBody !== undefined);
      const successes = Object.keys(theirs.responses).filter((status) => status.startsWith('2'));
      expect(Object.keys(ours.responses)).toEqual(expect.arrayContaining(successes));
    },
  );
});
