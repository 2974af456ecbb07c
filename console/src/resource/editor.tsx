import { useState } from 'react';
import { useChange } from '../api/change.ts';
import { Button } from '../ui/button.tsx';
import { Sheet } from '../ui/dialogs.tsx';
import { Failed } from '../ui/parts.tsx';
import { FieldInput } from './field-input.tsx';
import { fieldOf, isEmpty, sentOf, type Field, type Values } from './field.ts';
import { Previewed, usePreview, type Preview } from './preview.tsx';

interface EditorProps<New> {
  /** What is edited, in one word. */
  noun: string;
  fields: readonly Field<New>[];
  /** The item that is changed; null: a new one is made. */
  item: (Values & { id?: string }) | null;
  create: (item: New) => Promise<unknown>;
  update?: ((item: Values) => Promise<unknown>) | undefined;
  /** Says what would come of it, before it is saved. */
  preview?: Preview | undefined;
  onClose: () => void;
}

/** Makes an item or changes one; what the API says of a field is said there. */
export function Editor<New>({ open, ...props }: EditorProps<New> & { open: boolean }) {
  const { noun, item, onClose } = props;
  return (
    <Sheet open={open} onClose={onClose} title={item === null ? `New ${noun}` : `Edit the ${noun}`}>
      <Form {...props} />
    </Sheet>
  );
}

const initialOf = <New,>(fields: readonly Field<New>[], item: Values | null): Values =>
  Object.fromEntries(fields.map(({ name, initial }) => [name, item === null ? initial : item[name]]));

function Form<New>({ noun, fields, item, create, update, preview, onClose }: EditorProps<New>) {
  const [values, setValues] = useState(() => initialOf(fields, item));
  const save = useChange({
    run: () => {
      const sent = sentOf(fields, values, item);
      return item === null ? create(sent as New) : update!({ id: item.id, ...sent });
    },
    done: item === null ? `The ${noun} is created.` : 'Saved.',
    quiet: true,
  });
  const previewed = usePreview(preview, { ...sentOf(fields, values, item), ...(item !== null && { id: item.id }) });
  const problem = save.error?.message ?? '';
  const at = problem === '' ? null : fieldOf(fields, problem);
  // What is not filled in yet is no mistake: that is said below.
  const early = previewed.error?.message ?? '';
  const earlyAt = fieldOf(fields, early);
  const isMistake = earlyAt !== null && !isEmpty(values[earlyAt]);
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate(undefined, { onSuccess: onClose });
      }}
    >
      {fields
        .filter(({ when }) => when?.(values) !== false)
        .map((field) => (
          <FieldInput
            key={field.name}
            field={field}
            disabled={item !== null && field.fixed === true}
            value={values[field.name]}
            onChange={(value) => setValues({ ...values, [field.name]: value })}
            problem={at === field.name ? problem : isMistake && earlyAt === field.name ? early : undefined}
          />
        ))}
      {preview !== undefined && <Previewed text={isMistake ? '' : early || previewed.data} />}
      {save.isError && at === null && <Failed error={save.error} />}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" look="primary" disabled={save.isPending}>
          {item === null ? 'Create' : 'Save'}
        </Button>
      </div>
    </form>
  );
}
