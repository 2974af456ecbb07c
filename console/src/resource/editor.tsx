import { useState } from 'react';
import { useChange } from '../api/change.ts';
import { Button } from '../ui/button.tsx';
import { Sheet } from '../ui/dialogs.tsx';
import { Failed } from '../ui/parts.tsx';
import { FieldInput } from './field-input.tsx';
import { fieldOf, isEmpty, isRequired, isShown, problemOf, sentOf, type Field, type Values } from './field.ts';
import { Previewed, usePreview, type Preview } from './preview.tsx';

interface EditorProps {
  /** What is edited, in one word. */
  noun: string;
  fields: readonly Field[];
  /** The item that is changed; null: a new one is made. */
  item: (Values & { id?: string }) | null;
  create: (item: Values) => Promise<unknown>;
  update?: ((item: Values) => Promise<unknown>) | undefined;
  /** Says what would come of it, before it is saved. */
  preview?: Preview | undefined;
  onClose: () => void;
}

/** Makes an item or changes one; what the API says of a field is said there. */
export function Editor({ open, ...props }: EditorProps & { open: boolean }) {
  const { noun, item, onClose } = props;
  return (
    <Sheet open={open} onClose={onClose} title={item === null ? `New ${noun}` : `Edit the ${noun}`}>
      <Form {...props} />
    </Sheet>
  );
}

const initialOf = (fields: readonly Field[], item: Values | null): Values =>
  Object.fromEntries(fields.map(({ name, initial }) => [name, item === null ? initial : item[name]]));

function Form({ noun, fields, item, create, update, preview, onClose }: EditorProps) {
  const [values, setValues] = useState(() => initialOf(fields, item));
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const touch = (names: readonly string[]): void => setTouched(new Set([...touched, ...names]));
  const save = useChange({
    run: () => {
      const sent = sentOf(fields, values, item);
      return item === null ? create(sent) : update!({ id: item.id, ...sent });
    },
    done: item === null ? `The ${noun} is created.` : 'Saved.',
    quiet: true,
  });
  const previewed = usePreview(preview, { ...sentOf(fields, values, item), ...(item !== null && { id: item.id }) });
  const refusal = save.error?.message ?? '';
  const refusedAt = refusal === '' ? null : fieldOf(fields, refusal);
  const early = previewed.error?.message ?? '';
  const earlyAt = fieldOf(fields, early);
  /** An empty field has no error before it was left, or somebody tried to save. */
  const problemAt = (field: Field): string | undefined => {
    if (refusedAt === field.name) return refusal;
    const value = values[field.name];
    const problem = touched.has(field.name) ? problemOf(field, values) : null;
    return problem ?? (earlyAt === field.name && !isEmpty(value) ? early : undefined);
  };
  const shown = fields.filter((field) => isShown(field, values, item === null));
  return (
    <form
      className="flex flex-col gap-3"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        touch(shown.map(({ name }) => name));
        const wrong = shown.findIndex((field) => problemOf(field, values) !== null);
        if (wrong === -1) return save.mutate(undefined, { onSuccess: onClose });
        const input = event.currentTarget.querySelector(`[data-field="${shown[wrong]!.name}"]`);
        input?.querySelector<HTMLElement>('input, select, textarea')?.focus();
      }}
    >
      {shown.map((field) => (
        <div
          key={field.name}
          data-field={field.name}
          onBlur={({ relatedTarget }) => {
            // A sentence that appears under the pointer would move the button that is being pressed.
            if (!(relatedTarget instanceof HTMLButtonElement)) touch([field.name]);
          }}
        >
          <FieldInput
            field={field}
            required={isRequired(field, values)}
            disabled={item !== null && field.fixed === true}
            value={values[field.name]}
            onChange={(value) => setValues({ ...values, [field.name]: value })}
            problem={problemAt(field)}
          />
          {field.below?.(values[field.name])}
        </div>
      ))}
      {preview !== undefined && (
        <Previewed
          text={earlyAt === null ? early || previewed.data : ''}
          isOpen={earlyAt !== null && isEmpty(values[earlyAt])}
        />
      )}
      {save.isError && refusedAt === null && <Failed error={save.error} />}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" look="primary" disabled={save.isPending}>
          {item === null ? 'Create' : 'Save'}
        </Button>
      </div>
    </form>
  );
}
