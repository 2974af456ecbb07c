/** The forms of all kinds of resources. `vite.config.ts` makes it from the server's declarations of fields. */
declare module 'virtual:forms' {
  // oxlint-disable-next-line typescript/consistent-type-imports -- an ambient module takes no relative import
  type Forms = typeof import('../../src/domain/fields/form.ts').FORMS;
  export const FORMS: Forms;
}
