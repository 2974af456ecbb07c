import { openapiGet as adminOpenapiGet } from './admin/openapi/get.ts';
import { openapiGet } from './application/openapi/get.ts';
import type { Operation } from './operation.ts';

/** The Application API's table of contents. */
export const applicationOperations: readonly Operation[] = [openapiGet(() => applicationOperations)];

/** The Admin API's table of contents. */
export const adminOperations: readonly Operation[] = [adminOpenapiGet(() => adminOperations)];
