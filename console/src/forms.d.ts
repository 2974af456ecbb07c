/** The forms of all kinds of resources. `vite.config.ts` makes it from the server's declarations of fields. */
declare module 'virtual:forms' {
  type Forms = typeof import('../../src/domain/fields/form.ts').FORMS;
  export const FORMS: Forms;
}
