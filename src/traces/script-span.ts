import type { WorkSpan } from './traces.ts';

/** The span of a call of a script, by the semantic conventions for databases; `events`: how many it carries. */
export const scriptSpan = (script: { file: string; name: string }, events?: number): WorkSpan => ({
  name: script.file,
  isCall: true,
  attributes: () => ({
    'db.system.name': 'redis',
    'db.operation.name': 'FCALL',
    'db.stored_procedure.name': script.name,
    ...(events !== undefined && { 'laurel.events': events }),
  }),
});
