import { Type } from 'typebox';
import { openapiDocument } from '../../openapi.ts';
import { operation, type Operation } from '../../operation.ts';

/** The description of this surface, open to anyone. `all` gives the surface's operations, this one included. */
export function openapiGet(all: () => readonly Operation[]): Operation {
  let json: string | undefined;
  return operation({
    id: 'admin_openapi_get',
    surface: 'admin',
    method: 'get',
    path: '/v1/openapi',
    summary: 'Describes this API',
    scope: 'public',
    responses: { 200: Type.Object({ openapi: Type.String(), info: Type.Object({ version: Type.String() }) }) },
    handle: async () => ({ status: 200, json: (json ??= JSON.stringify(openapiDocument('admin', all()))) }),
  });
}
