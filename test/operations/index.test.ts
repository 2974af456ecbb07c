import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { WEBHOOK_EVENTS } from '../../src/domain/webhook.ts';
import { contractEvents, contractOperation, contractOperations } from '../contract/contract.ts';

const surfaces = { application: applicationOperations, admin: adminOperations };
const root = join(import.meta.dirname, '../../src/operations');

/** The ID that an operation's path gives it. */
const idOf = (path: string): string =>
  path
    .replace(/\.ts$/, '')
    .replace(/^application\//, '')
    .replaceAll(/[/-]/g, '_');

/** The IDs that a file's operations have by its place: its own, those below it where it holds several, or those of the resource that it declares. */
function idsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const declared = [...text.matchAll(/\boperation\(\{\s+id: '(\w+)'/g)].map(([, id]) => id!);
  if (declared.length > 1) return declared.filter((id) => id.startsWith(`${idOf(file)}_`));
  if (declared.length === 1 || /\boperation\(\{/.test(text)) return [idOf(file)];
  if (!/\badminResource\(\{/.test(text)) return [];
  return ['list', 'get', 'create', 'update', 'delete'].map((verb) => idOf(`${dirname(file)}/${verb}`));
}

test.each(['application', 'admin'] as const)('%s: every operation and resource is listed, under its ID', (surface) => {
  const files = readdirSync(join(root, surface), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => `${surface}/${file}`);
  // A resource's operation may have a file of its own as well.
  const ids = [...new Set(files.flatMap(idsOf))].sort();
  expect(surfaces[surface].map(({ id }) => id).sort()).toEqual(ids);
});

test.each(['application', 'admin'] as const)('%s: operations are declared for their surface, once each', (surface) => {
  const operations = surfaces[surface];
  expect(operations.filter((operation) => operation.surface !== surface)).toEqual([]);
  const places = operations.flatMap(({ method, path, aliases }) => [path, ...aliases].map((at) => `${method} ${at}`));
  expect(new Set(places).size).toBe(places.length);
});

test('on the admin surface no operation names users: application keys do not get there', () => {
  expect(adminOperations.filter(({ namedUsers }) => namedUsers !== null)).toEqual([]);
});

test.each(['application', 'admin'] as const)('%s: every operation of the contract is there', (surface) => {
  const shapeOf = (method: string, path: string): string => `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`;
  const ours = new Set(surfaces[surface].map(({ method, path }) => shapeOf(method, path)));
  const theirs = contractOperations(surface);
  expect(theirs.length).toBeGreaterThan(20);
  expect(theirs.filter(({ method, path }) => !ours.has(shapeOf(method, path)))).toEqual([]);
});

test('every event of the contract is there', () => {
  expect([...WEBHOOK_EVENTS].sort()).toEqual(contractEvents().sort());
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
