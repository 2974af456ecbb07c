import { expect, test } from 'vitest';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { refusalsOf } from '../../src/operations/openapi.ts';
import { contractOperation } from '../contract/contract.ts';

const byId = (id: string): number[] =>
  refusalsOf([...applicationOperations, ...adminOperations].find((operation) => operation.id === id)!);

test.each([
  ['metrics_event', [400, 401, 403, 404, 405, 413, 415, 422, 429, 431, 500, 503]],
  ['users_get', [400, 401, 403, 404, 405, 422, 429, 431, 500, 503]],
  ['admin_organisation_get', [400, 401, 403, 405, 422, 429, 431, 500, 503]],
  ['admin_tenants_get', [400, 401, 403, 404, 405, 422, 429, 431, 500, 503]],
  ['openapi_get', [400, 405, 431, 500]],
])('%s may be refused with %j', (id, statuses) => {
  expect(byId(id)).toEqual(statuses);
});

test.each([...applicationOperations, ...adminOperations].map((operation) => [operation.id, operation] as const))(
  '%s: lists what the contract lists',
  (_, operation) => {
    const listed = Object.keys(contractOperation(operation.surface, operation.method, operation.path)?.responses ?? {});
    // Settings are the organisation's: there is no tenant to name, and so no 422.
    if (operation.id === 'admin_settings_get') listed.splice(listed.indexOf('422'), 1);
    const own = [...Object.keys(operation.responses).map(Number), ...refusalsOf(operation)];
    expect(own).toEqual(expect.arrayContaining(listed.map(Number)));
  },
);
