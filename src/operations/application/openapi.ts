import { Type } from 'typebox';
import { openapiDocument } from '../openapi.ts';
import { operation, type Operation } from '../operation.ts';
import { jsonFile, type StaticFile } from '../static-file.ts';

/** The public document of this surface. `all` returns the surface's operations, including this one. */
export function openapiGet(all: () => readonly Operation[]): Operation {
  let file: Promise<StaticFile> | undefined;
  return operation({
    id: 'openapi_get',
    surface: 'application',
    method: 'get',
    path: '/v1/openapi',
    summary: 'Describes this API',
    scope: 'public',
    responses: { 200: Type.Object({ openapi: Type.String(), info: Type.Object({ version: Type.String() }) }) },
    file: () => (file ??= jsonFile(JSON.stringify(openapiDocument('application', all())))),
  });
}
