import { useState } from 'react';
import { useChange } from '../api/change.ts';
import type { AnalyticsSearch } from '../screens/analytics/search.ts';
import { Sheet } from '../ui/dialogs.tsx';
import { Form } from '../ui/form.tsx';
import { Failed } from '../ui/parts.tsx';
import { AnalysisLink } from './analysis-link.tsx';
import { FieldInput } from './field-input.tsx';
import {
  fieldOf,
  isEmpty,
  isRequired,
  isShown,
  keyOf,
  problemOf,
  sentOf,
  textAtField,
  type Field,
  type Values,
  valueIn,
} from './field.ts';
import { Previewed, usePreview, type Preview } from './preview.tsx';

interface FieldsFormProps {
  fields: readonly Field[];
  /** The resource to change; `null` for a new one. */
  item: (Values & { id?: string }) | null;
  /** Creates the resource, or sets the fields that changed. */
  save: (sent: Values) => Promise<unknown>;
  /** Shown after a successful save. */
  done: string;
  /** Describes the effect of the values before they are saved. */
  preview?: Preview | undefined;
  /** The place of the resource's analysis. */
  analysis?: AnalyticsSearch | undefined;
  onSaved?: () => void;
}

interface EditorProps extends Omit<FieldsFormProps, 'save' | 'done' | 'onSaved'> {
  /** The resource's name in the singular. */
  noun: string;
  create: (item: Values) => Promise<unknown>;
  update?: ((item: Values) => Promise<unknown>) | undefined;
  onClose: () => void;
}

/** Creates or changes a resource in a sheet. */
export function Editor({ open, noun, create, update, onClose, ...form }: EditorProps & { open: boolean }) {
  const { item } = form;
  return (
    <Sheet open={open} onClose={onClose} title={item === null ? `New ${noun}` : `Edit the ${noun}`}>
      <FieldsForm
        {...form}
        save={(sent) => (item === null ? create(sent) : update!({ id: item.id, ...sent }))}
        done={item === null ? `The ${noun} is created.` : 'Saved.'}
        onSaved={onClose}
      />
    </Sheet>
  );
}

let isPressed = false;
addEventListener('pointerdown', () => (isPressed = true), true);
for (const type of ['pointerup', 'pointercancel']) addEventListener(type, () => (isPressed = false), true);

/** Runs something at once or, while a pointer is pressed, after its click: a message that appears would move what is being clicked. */
function afterClick(run: () => void): void {
  if (isPressed) addEventListener('pointerup', () => setTimeout(run), { once: true });
  else run();
}

const initialOf = (fields: readonly Field[], item: Values | null): Values =>
  Object.fromEntries(fields.map((field) => [field.name, valueIn(item ?? {}, field)]));

/**
 * A form of declared fields. An error of the API that names a field is shown at this field. When the item is read again,
 * what a person changed stays, and the other fields show what is stored.
 */
export function FieldsForm({ fields, item, save: saveValues, done, preview, analysis, onSaved }: FieldsFormProps) {
  const [edits, setEdits] = useState<Values>({});
  const stored = initialOf(fields, item);
  const values: Values = { ...stored, ...edits };
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const touch = (names: readonly string[]): void => setTouched((before) => new Set([...before, ...names]));
  const save = useChange({ run: () => saveValues(sentOf(fields, values, item)), done, quiet: true });
  const previewed = usePreview(preview, { ...sentOf(fields, values, item), ...(item !== null && { id: item.id }) });
  const refusal = save.error?.message ?? '';
  const refusedAt = refusal === '' ? null : fieldOf(fields, refusal);
  const early = previewed.error?.message ?? '';
  const earlyAt = fieldOf(fields, early);
  /** An empty field shows no error before the user leaves it or submits. */
  const problemAt = (field: Field): string | undefined => {
    if (refusedAt === field.name) return textAtField(refusal);
    const value = values[field.name];
    const problem = touched.has(field.name) ? problemOf(field, values) : null;
    return problem ?? (earlyAt === field.name && !isEmpty(value) ? textAtField(early) : undefined);
  };
  const shown = fields.filter((field) => isShown(field, values, item === null));
  const set = (name: string, value: unknown): void => {
    const key = fields.find((field) => field.name === 'key');
    // The key follows the name until the user edits it.
    const follows =
      name === 'name' && item === null && key !== undefined && (values['key'] ?? '') === keyOf(values['name']);
    setEdits({ ...edits, [name]: value, ...(follows && { key: keyOf(value) }) });
  };
  const submit = (): void => {
    // What is stored may read otherwise than what was sent. Input since then stays.
    const onRead = (): void =>
      setEdits((current) =>
        Object.fromEntries(Object.entries(current).filter(([name, value]) => value !== edits[name])),
      );
    save.mutate(undefined, onSaved === undefined ? { onRead } : { onSuccess: onSaved });
  };
  return (
    <Form
      noValidate
      change={save}
      submit={item === null ? 'Create' : 'Save'}
      isDirty={JSON.stringify(values) !== JSON.stringify(stored)}
      showsError={refusedAt !== null}
      onSubmit={(form) => {
        touch(shown.map(({ name }) => name));
        const wrong = shown.findIndex((field) => problemOf(field, values) !== null);
        if (wrong === -1) return submit();
        const input = form.querySelector(`[data-field="${shown[wrong]!.name}"]`);
        input?.querySelector<HTMLElement>('input, select, textarea')?.focus();
      }}
    >
      {analysis !== undefined && <AnalysisLink to={analysis} className="self-start" />}
      {shown.map((field) => (
        <div key={field.name} data-field={field.name} onBlur={() => afterClick(() => touch([field.name]))}>
          <FieldInput
            field={field}
            required={isRequired(field, values)}
            disabled={item !== null && field.fixed === true}
            value={values[field.name]}
            onChange={(value) => set(field.name, value)}
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
      {save.isError && refusedAt !== null && !shown.some(({ name }) => name === refusedAt) && (
        <Failed error={save.error} />
      )}
    </Form>
  );
}
