import { Type } from 'typebox';
import { openapiDocument } from '../openapi.ts';
import { existing, operation, type Operation } from '../operation.ts';
import { jsonFile, type StaticFile } from '../static-file.ts';

/** The description of this surface, open to anyone. `all` gives the surface's operations, this one included. */
export function openapiGet(all: () => readonly Operation[]): Operation {
  const made = new Map<number, StaticFile>();
  return operation({
    id: 'admin_openapi_get',
    surface: 'admin',
    method: 'get',
    path: '/v1/openapi',
    summary: 'Describes this API',
    scope: 'public',
    responses: { 200: Type.Object({ openapi: Type.String(), info: Type.Object({ version: Type.String() }) }) },
    file: (services) => {
      const operations = existing(all(), services);
      const file = made.get(operations.length) ?? jsonFile(JSON.stringify(openapiDocument('admin', operations)));
      made.set(operations.length, file);
      return file;
    },
  });
}
