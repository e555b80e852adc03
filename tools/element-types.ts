// A rule for the converter: a function there that makes an object says of which type. The compiler refuses keys too many (a misspelt attribute of an
// element) only where the type is known beforehand; in what a callback without a return type makes it overlooks them. Pure; called by lint-limits.ts.
import ts from 'typescript';

export interface Untyped {
  readonly file: string;
  readonly line: number;
}

const FOLDERS = /^src\/core\/converter\/(steps|live)\/(?!.*\.test\.ts$)/;

export function findUntyped(file: string, text: string): Untyped[] {
  if (!FOLDERS.test(file)) return [];
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: Untyped[] = [];
  const visit = (node: ts.Node): void => {
    if (isUntypedMaker(node)) found.push({ file, line: source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1 });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

const isUntypedMaker = (node: ts.Node): boolean => ts.isFunctionLike(node) && node.type === undefined && resultsOf(node).some(makesObject);

/** What a function returns; functions inside it return for themselves. */
function resultsOf(node: ts.SignatureDeclaration): ts.Expression[] {
  if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) return [node.body];
  const results: ts.Expression[] = [];
  const visit = (child: ts.Node): void => {
    if (ts.isFunctionLike(child)) return;
    if (ts.isReturnStatement(child) && child.expression) results.push(child.expression);
    ts.forEachChild(child, visit);
  };
  ts.forEachChild(node, visit);
  return results;
}

function makesObject(node: ts.Expression): boolean {
  if (ts.isObjectLiteralExpression(node)) return true;
  if (ts.isParenthesizedExpression(node)) return makesObject(node.expression);
  if (ts.isConditionalExpression(node)) return makesObject(node.whenTrue) || makesObject(node.whenFalse);
  if (ts.isBinaryExpression(node)) return makesObject(node.right);
  return ts.isArrayLiteralExpression(node) && node.elements.some(makesObject);
}
