import { Type } from 'typebox';
import { openapiDocument } from '../../openapi.ts';
import { existing, operation, type Operation } from '../../operation.ts';

/** The description of this surface, open to anyone. `all` gives the surface's operations, this one included. */
export function openapiGet(all: () => readonly Operation[]): Operation {
  const made = new Map<number, string>();
  return operation({
    id: 'admin_openapi_get',
    surface: 'admin',
    method: 'get',
    path: '/v1/openapi',
    summary: 'Describes this API',
    scope: 'public',
    responses: { 200: Type.Object({ openapi: Type.String(), info: Type.Object({ version: Type.String() }) }) },
    handle: async (services) => {
      const operations = existing(all(), services);
      const json = made.get(operations.length) ?? JSON.stringify(openapiDocument('admin', operations));
      made.set(operations.length, json);
      return { status: 200, json };
    },
  });
}
